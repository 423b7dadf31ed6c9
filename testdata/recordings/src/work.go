package main

type shape interface{ area(n int) int }
type square struct{ side int }

var sink int

//go:noinline
func spin(n int) int {
	for i := 0; i < n; i++ {
		sink += i * i
	}
	return sink
}

//go:noinline
func (s square) area(n int) int { return spin(n) + s.side }

func fibonacci(n int) int {
	if n < 2 {
		return n
	}
	return fibonacci(n-1) + fibonacci(n-2)
}

func work(s shape, rounds int, done chan int) {
	for i := 0; i < rounds; i++ {
		sink += s.area(20000) + fibonacci(18)
	}
	done <- 1
}

func main() {
	done := make(chan int)
	go work(square{3}, 900, done)
	go work(square{4}, 900, done)
	<-done
	<-done
}
