/* words.cc - containers, strings and algorithms of the standard library: deep chains of real code. */
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace {
struct Word {
	std::string text;
	std::size_t count = 0;
	bool operator<(const Word &o) const
	{
		return count != o.count ? count > o.count : text < o.text;
	}
};

template <class Map> std::vector<Word> ranked(const Map &m)
{
	std::vector<Word> v;
	for (const auto &[k, n] : m)
		v.push_back({k, n});
	std::sort(v.begin(), v.end());
	return v;
}
} // namespace

int main(int argc, char **argv)
{
	std::map<std::string, std::size_t> tree;
	std::unordered_map<std::string, std::size_t> table;
	for (int i = 0; i < argc; i++) {
		std::string s(argv[i]);
		for (auto at = s.find(' '); at != std::string::npos; at = s.find(' ')) {
			tree[s.substr(0, at)]++;
			table[s.substr(0, at)]++;
			s.erase(0, at + 1);
		}
	}
	auto shared = std::make_shared<std::vector<std::string>>();
	for (const Word &w : ranked(tree))
		shared->push_back(w.text + std::to_string(w.count));
	for (const Word &w : ranked(table))
		shared->insert(shared->begin(), w.text);
	return shared->size() > 1000;
}
