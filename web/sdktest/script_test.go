package sdktest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
)

// Replies of a script that are no replies.
const (
	hangUp  = "hang up" // close the connection instead of answering
	silence = "silence" // never answer
	dotVerb = "."       // the final dot, as a verb of a script
)

// script is an SMTP server that answers each verb with a fixed reply; verbs
// that it does not name get what a healthy server says. The verb "" is the
// greeting. It keeps no message.
type script struct {
	replies    map[string]string
	extensions []string // lines of the answer to EHLO
}

var healthyReplies = map[string]string{
	"": "220 script.test ESMTP", "DATA": "354 go on", "QUIT": "221 2.0.0 bye",
	"AUTH": "235 2.7.0 welcome",
}

// serve speaks on one connection until it ends.
func (s script) serve(c net.Conn) {
	defer c.Close()
	in := bufio.NewReader(c)
	if !s.answer(c, in, "") {
		return
	}
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		verb := strings.ToUpper(strings.TrimSpace(line))
		verb, _, _ = strings.Cut(verb, " ")
		if !s.answer(c, in, verb) || verb == "QUIT" {
			return
		}
		if verb == "DATA" && s.reply(verb)[0] == '3' && (!skipMessage(in) || !s.answer(c, in, dotVerb)) {
			return
		}
	}
}

func (s script) reply(verb string) string {
	if r, ok := s.replies[verb]; ok {
		return r
	}
	if verb == "EHLO" {
		return ehlo(s.extensions)
	}
	if r, ok := healthyReplies[verb]; ok {
		return r
	}
	return "250 2.0.0 ok"
}

// answer says what the script has for verb; false ends the connection.
func (s script) answer(c net.Conn, in *bufio.Reader, verb string) bool {
	switch r := s.reply(verb); r {
	case hangUp:
		return false
	case silence:
		_, _ = io.Copy(io.Discard, in) // until the other side gives up
		return false
	default:
		_, err := fmt.Fprintf(c, "%s\r\n", r)
		return err == nil && !strings.HasPrefix(r, "421")
	}
}

func ehlo(extensions []string) string {
	lines := append([]string{"script.test"}, extensions...)
	for i := range lines {
		separator := "-"
		if i == len(lines)-1 {
			separator = " "
		}
		lines[i] = "250" + separator + lines[i]
	}
	return strings.Join(lines, "\r\n")
}

// skipMessage reads up to the final dot.
func skipMessage(in *bufio.Reader) bool {
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return false
		}
		if line == ".\r\n" {
			return true
		}
	}
}
