#include <iostream>
#include <numeric>
#include <thread>
#include <vector>

int main() {
    int n;
    std::cin >> n;
    std::vector<long long> v(n);
    for (auto &x : v) std::cin >> x;
    long long t = 0;
    std::thread worker([&] { t = std::accumulate(v.begin(), v.end(), 0LL); });
    worker.join();
    std::cout << t << "\n";
}
