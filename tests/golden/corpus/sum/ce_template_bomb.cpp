template <int N> struct Bomb { static constexpr long value = Bomb<N - 1>::value + Bomb<N - 2>::value; };
template <int A, int B> struct Wide { static constexpr long value = Wide<A - 1, B + 1>::value + Wide<A - 1, B - 1>::value; };

int main() { return Wide<900, 0>::value; }
