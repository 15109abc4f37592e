// Linearize checks the clients' log of tests/failover/run: whether the operations on each account can have happened one
// after the other, each between its call and its answer, with the balances that were answered.
//
//	linearize [-seconds N] LOG
package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"time"
)

// The longest line that a log may have, in bytes.
const longestLine = 1 << 20

func readLines(path string) ([]string, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, longestLine)
	var lines []string
	for scanner.Scan() {
		lines = append(lines, scanner.Text())
	}
	return lines, scanner.Err()
}

func run() error {
	seconds := flag.Int("seconds", 120, "how long the check of one account may take")
	flag.Parse()
	lines, err := readLines(flag.Arg(0))
	if err != nil {
		return err
	}
	entries, err := parse(lines)
	if err != nil {
		return err
	}
	found, count, err := check(entries, time.Duration(*seconds)*time.Second)
	if err != nil {
		return err
	}
	for _, sentence := range found {
		fmt.Println(sentence)
	}
	if len(found) > 0 {
		return fmt.Errorf("%d accounts are wrong", len(found))
	}
	if count == 0 {
		return fmt.Errorf("the log has no operations")
	}
	fmt.Printf("%d operations are linearizable\n", count)
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "linearize:", err)
		os.Exit(1)
	}
}
