// Answers one challenge of an ACME server, with cert-manager's package and the flags of its command.
package main

import (
	"flag"
	"log"

	"github.com/cert-manager/cert-manager/pkg/issuer/acme/http/solver"
	"github.com/go-logr/logr"
)

func main() {
	var s solver.HTTP01Solver
	flag.IntVar(&s.ListenPort, "listen-port", 8089, "the port on which challenges are answered")
	flag.StringVar(&s.Domain, "domain", "", "the name that is to be proven")
	flag.StringVar(&s.Token, "token", "", "the last part of the challenge's path")
	flag.StringVar(&s.Key, "key", "", "the answer")
	flag.Parse()
	log.Fatal(s.Listen(logr.Discard()))
}
