// deep.cc - threads whose stacks are deep and change at every depth: trees of random shape are visited
// by virtual functions, with recursions of random depth and the standard library at the leaves.
// Usage: deep SECONDS (of CPU time, all threads together).
#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

static thread_local volatile unsigned long sink;

struct Node {
	std::vector<std::unique_ptr<Node>> kids;
	unsigned value;
};

__attribute__((noinline)) static std::unique_ptr<Node> grow(std::mt19937 &random, int depth)
{
	auto node = std::make_unique<Node>();

	node->value = (unsigned)random();
	for (unsigned i = 0; depth && i < 1 + random() % 3; i++)
		node->kids.push_back(grow(random, depth - 1));
	return node;
}

struct Visitor {
	virtual ~Visitor() = default;
	virtual void leaf(Node &node) = 0;
	virtual void visit(Node &node)
	{
		volatile char room[300];

		room[node.value & 255] = 1;
		leaf(node);
		for (auto &kid : node.kids)
			visit(*kid);
		sink = sink + room[node.value & 255];
	}
};

struct Sorter : Visitor {
	void leaf(Node &node) override
	{
		std::vector<unsigned> v(50);

		for (auto &x : v)
			x = node.value++ * 7919;
		std::sort(v.begin(), v.end());
		sink = sink + v[3];
	}
};

struct Diver : Visitor {
	void leaf(Node &node) override { down(node, node.value & 31); }
	__attribute__((noinline)) void down(Node &node, unsigned depth)
	{
		volatile char room[200];

		room[depth] = 1;
		if (depth) {
			down(node, depth - 1);
		} else {
			std::string s = std::to_string(node.value);
			for (int i = 0; i < 50; i++)
				s += (char)('a' + i % 26);
			std::sort(s.begin(), s.end());
			sink = sink + (unsigned long)s[0];
		}
		sink = sink + room[depth];
	}
};

static void work(unsigned seed, clock_t end)
{
	std::mt19937 random(seed);

	while (clock() < end) {
		auto tree = grow(random, 12);
		Sorter sorter;
		Diver diver;
		std::map<unsigned, std::string> m;

		sorter.visit(*tree);
		diver.visit(*tree);
		for (int i = 0; i < 200; i++)
			m[(unsigned)random()] = "x";
	}
}

int main(int argc, char **argv)
{
	clock_t end = clock() + (clock_t)(atof(argc > 1 ? argv[1] : "1") * CLOCKS_PER_SEC);
	std::vector<std::thread> threads;

	for (unsigned i = 0; i < 3; i++)
		threads.emplace_back(work, i, end);
	work(9, end);
	for (auto &t : threads)
		t.join();
}
