package main

import (
	"encoding/json"
	"fmt"
	"math"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"
)

// An Entry is a line of the clients' log, as far as the balances of accounts go. Times are in nanoseconds of one clock.
type Entry struct {
	Kind    string `json:"kind"`    // open, spend, transfer or read
	Status  string `json:"status"`  // ok, refused or unknown
	Account string `json:"account"` // of whoever pays or reads
	To      string `json:"to"`      // of whoever receives a transfer
	Amount  int64  `json:"amount"`
	Balance *int64 `json:"balance"` // in the answer: the balance afterwards
	Call    int64  `json:"call"`    // when the first request was sent
	Return  int64  `json:"return"`  // when the last answer came
}

// What an operation does to one account. A credit changes the balance by a positive amount, a read by 0.
type change struct {
	amount  int64
	balance *int64 // afterwards, if it was answered
	refused bool   // for a lack of points
	unknown bool   // it may have taken effect once, at any time after its call, or never
}

func accountModel(opening int64) porcupine.Model {
	return porcupine.Model{
		Init: func() interface{} { return opening },
		Step: func(state, input, _ interface{}) (bool, interface{}) {
			balance, one := state.(int64), input.(change)
			if one.refused {
				return balance+one.amount < 0, balance
			}
			next := balance + one.amount
			if one.unknown {
				return true, next
			}
			return next >= 0 && (one.balance == nil || *one.balance == next), next
		},
		DescribeOperation: func(input, _ interface{}) string { return fmt.Sprintf("%+v", input) },
	}
}

// An operation whose outcome is unknown never returns, so it may come behind all others, where nobody sees it.
func add(to map[string][]porcupine.Operation, account string, entry Entry, one change) {
	until := entry.Return
	if one.unknown {
		until = math.MaxInt64
	}
	to[account] = append(to[account], porcupine.Operation{Input: one, Call: entry.Call, Return: until})
}

// Histories returns the operations on each account, and with which balance it began.
func histories(entries []Entry) (map[string][]porcupine.Operation, map[string]int64, error) {
	operations, opening := map[string][]porcupine.Operation{}, map[string]int64{}
	for _, entry := range entries {
		unknown, refused := entry.Status == "unknown", entry.Status == "refused"
		switch entry.Kind {
		case "open":
			opening[entry.Account] = *entry.Balance
		case "read":
			if !unknown {
				add(operations, entry.Account, entry, change{balance: entry.Balance})
			}
		case "spend", "transfer":
			add(operations, entry.Account, entry,
				change{amount: -entry.Amount, balance: entry.Balance, refused: refused, unknown: unknown})
			if entry.Kind == "transfer" && !refused {
				add(operations, entry.To, entry, change{amount: entry.Amount, unknown: unknown})
			}
		}
	}
	for account := range operations {
		if _, known := opening[account]; !known {
			return nil, nil, fmt.Errorf("the log doesn't say with which balance %s began", account)
		}
	}
	return operations, opening, nil
}

// Check returns a sentence for each account whose history isn't linearizable, or couldn't be checked within the limit,
// and the number of operations that were checked.
func check(entries []Entry, limit time.Duration) ([]string, int, error) {
	operations, opening, err := histories(entries)
	if err != nil {
		return nil, 0, err
	}
	accounts := make([]string, 0, len(operations))
	for account := range operations {
		accounts = append(accounts, account)
	}
	sort.Strings(accounts)
	var found []string
	count := 0
	for _, account := range accounts {
		count += len(operations[account])
		switch porcupine.CheckOperationsTimeout(accountModel(opening[account]), operations[account], limit) {
		case porcupine.Illegal:
			found = append(found, "the history of "+account+" isn't linearizable")
		case porcupine.Unknown:
			found = append(found, "the history of "+account+" couldn't be checked in "+limit.String())
		}
	}
	return found, count, nil
}

func parse(lines []string) ([]Entry, error) {
	entries := make([]Entry, 0, len(lines))
	for number, line := range lines {
		var entry Entry
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			return nil, fmt.Errorf("line %d: %w", number+1, err)
		}
		entries = append(entries, entry)
	}
	return entries, nil
}
