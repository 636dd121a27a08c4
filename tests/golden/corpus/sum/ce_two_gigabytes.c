int table[500000000] = {1};

int main(int count, char **words) {
    table[count] += words != 0;
    return table[count] & 1;
}
