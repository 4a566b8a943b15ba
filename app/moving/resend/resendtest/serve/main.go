// Command serve serves a sample account on a free loopback port until its standard input is
// closed, and prints its URL on one line. It is used by tests in other languages.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"

	"mailer/app/moving/resend/resendtest"
)

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("http://%s\n", l.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // the parent process has ended
		os.Exit(0)
	}()
	fmt.Fprintln(os.Stderr, http.Serve(l, &resendtest.Server{Account: resendtest.Sample(45)}))
	os.Exit(1)
}
