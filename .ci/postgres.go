// Command postgres runs a command whose tests share one PostgreSQL of their own:
//
//	go run .ci/postgres.go go test ./db
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"

	"mailer/db/pgtest"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: go run .ci/postgres.go COMMAND …")
		os.Exit(2)
	}
	command := exec.Command(os.Args[1], os.Args[2:]...)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := pgtest.RunShared(command)
	if err == nil {
		return
	}
	if ended := new(exec.ExitError); !errors.As(err, &ended) { // a failed command has reported it
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(1)
}
