package smtpout

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mailer/app"
)

// maxConversation bounds a stored conversation, in bytes. A longer one loses its
// middle, so that the sender and the failure stay.
const (
	maxConversation  = 4 << 10
	conversationHead = 1 << 10
	omittedLines     = "* (%d lines left out)"
)

// commandReply is a command and its reply.
type commandReply struct {
	command []byte // with its CRLF; nil: the message
	code    int    // 0: no reply, or unreadable
	text    string
}

// transcript records the commands and replies of a transaction in parts that exist anyway, because
// the conversation is only formatted for failed transactions.
type transcript struct {
	unanswered []byte // commands without a reply
	lines      []commandReply
}

// addReply records the reply to the oldest unanswered command.
func (t *transcript) addReply(reply commandReply) {
	reply.command, t.unanswered, _ = bytes.Cut(t.unanswered, []byte{'\n'})
	t.lines = append(t.lines, reply)
}

// addBody records that the message was sent.
func (t *transcript) addBody() { t.lines = append(t.lines, commandReply{}) }

// acceptedByAll reports whether a relay accepted a message for all recipients.
func acceptedByAll(res app.Result) bool {
	return res.Kind == app.ResultDone && !slices.ContainsFunc(res.Recipients, func(v app.RecipientResult) bool {
		return v.Outcome == app.Refused || v.Outcome == app.Postponed
	})
}

// conversation formats the dialogue of a transaction: ">" marks our lines, "<" the relay's, "*" a
// remark. Authentication and message are left out.
func (x *exchange) conversation(res app.Result) string {
	secured := "without TLS"
	if x.conn.tls != "" {
		secured = "with " + x.conn.tls
	}
	lines := []string{"* (connected to " + x.relay.addr + " " + secured + "; greeting and sign-in left out)"}
	for _, s := range x.transcript.lines {
		if s.command == nil {
			lines = append(lines, "> (the message, "+strconv.FormatInt(x.message.size(), 10)+" bytes, left out)")
			continue
		}
		lines = append(lines, "> "+x.relay.sanitizer.text(string(bytes.TrimRight(s.command, "\r\n"))))
		if s.code > 0 {
			lines = append(lines, "< "+strconv.Itoa(s.code)+" "+x.relay.sanitizer.text(s.text))
		}
	}
	if res.Reply.Code == 0 && res.Reply.Text != "" {
		lines = append(lines, "* "+res.Reply.Text)
	}
	return joinShortened(lines)
}

// joinShortened joins lines and leaves out the middle if they are too long.
func joinShortened(lines []string) string {
	if whole := strings.Join(lines, "\n"); len(whole) <= maxConversation {
		return whole
	}
	first, size := 0, len(omittedLines)
	for ; first < len(lines) && size+len(lines[first])+1 <= conversationHead; first++ {
		size += len(lines[first]) + 1
	}
	last := len(lines)
	for ; last > first && size+len(lines[last-1])+1 <= maxConversation; last-- {
		size += len(lines[last-1]) + 1
	}
	remark := fmt.Sprintf(omittedLines, last-first)
	return strings.Join(slices.Concat(lines[:first], []string{remark}, lines[last:]), "\n")
}
