package main

import (
	"strings"
	"testing"
	"time"
)

// A log of two accounts: ada spends, bob transfers to ada, and both look.
const sound = `
{"kind":"open","account":"ada","balance":100}
{"kind":"open","account":"bob","balance":50}
{"kind":"spend","status":"ok","account":"ada","amount":10,"balance":90,"call":10,"return":20}
{"kind":"transfer","status":"ok","account":"bob","to":"ada","amount":5,"balance":45,"call":15,"return":40}
{"kind":"read","status":"ok","account":"ada","balance":95,"call":30,"return":35}
{"kind":"spend","status":"refused","account":"bob","amount":46,"call":50,"return":60}
{"kind":"spend","status":"unknown","account":"bob","amount":1,"call":50,"return":60}
{"kind":"spend","status":"ok","account":"bob","amount":2,"balance":42,"call":70,"return":80}
{"kind":"read","status":"ok","account":"ada","balance":95,"call":90,"return":95}
{"kind":"read","status":"ok","account":"bob","balance":42,"call":90,"return":95}`

func found(t *testing.T, log string) []string {
	t.Helper()
	entries, err := parse(strings.Split(strings.TrimSpace(log), "\n"))
	if err != nil {
		t.Fatal(err)
	}
	sentences, _, err := check(entries, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return sentences
}

func TestASoundLogIsLinearizable(t *testing.T) {
	if sentences := found(t, sound); len(sentences) != 0 {
		t.Error(sentences)
	}
}

func TestAForgedLogIsNot(t *testing.T) {
	forged := map[string][2]string{
		"an answered spend is lost":                    {`"ada","balance":95,"call":90`, `"ada","balance":105,"call":90`},
		"a spend took effect twice":                    {`"ada","balance":95,"call":90`, `"ada","balance":85,"call":90`},
		"an answered transfer is lost at its receiver": {`"ada","balance":95,"call":90`, `"ada","balance":90,"call":90`},
		"a read shows what was before an answer":       {`"ada","balance":95,"call":30`, `"ada","balance":100,"call":30`},
		"two answers are in the wrong order":           {`"balance":42,"call":70,"return":80`, `"balance":42,"call":1,"return":2`},
		"a refused spend took effect":                  {`"bob","balance":42,"call":90`, `"bob","balance":-4,"call":90`},
		"a spend is refused that could be paid":        {`"amount":46`, `"amount":3`},
		"a spend in doubt took effect twice":           {`"bob","balance":42,"call":90`, `"bob","balance":41,"call":90`},
	}
	for name, change := range forged {
		t.Run(name, func(t *testing.T) {
			log := strings.Replace(sound, change[0], change[1], 1)
			if log == sound {
				t.Fatal("the log wasn't changed")
			}
			if len(found(t, log)) == 0 {
				t.Error("it wasn't found")
			}
		})
	}
}

func TestAnAccountNeedsItsOpening(t *testing.T) {
	entries, err := parse([]string{`{"kind":"read","status":"ok","account":"ada","balance":1,"call":1,"return":2}`})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := check(entries, time.Minute); err == nil {
		t.Error("it wasn't found")
	}
}
