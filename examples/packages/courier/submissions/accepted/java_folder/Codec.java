class Codec {
    String encoded(long number) {
        return Long.toBinaryString(number).replace('0', 'a').replace('1', 'b');
    }

    long decoded(String word) {
        String bits = new StringBuilder(word).reverse().toString().replace('a', '0').replace('b', '1');
        return Long.parseLong(bits, 2);
    }
}
