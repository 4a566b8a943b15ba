package smtpout

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"strconv"
	"time"

	"mailer/app"
)

// connEnd is the state of a connection after a transaction.
type connEnd int

const (
	connReusable connEnd = iota // ready for the next transaction
	connBroken                  // must be dropped
	connStale                   // the relay closed it before MAIL was answered
)

// exchange is one transaction on one connection.
type exchange struct {
	relay   *Relay
	ctx     context.Context // ends the transaction until the final dot
	conn    *conn
	m       *app.Outgoing
	message *built
	unsent  []byte // commands not sent yet, each with its CRLF
	pending int    // unanswered commands
	// results has one entry per recipient. Accepted means that RCPT was accepted or not answered
	// yet.
	results    []app.RecipientResult
	accepted   int
	transcript transcript
}

// transact carries out one transaction (RFC 5321 3.3). ending is ctx, or ends earlier by Close; ctx
// is passed to authorize.
func (r *Relay) transact(ctx, ending context.Context, c *conn, m *app.Outgoing, b *built,
	authorize func(ctx context.Context, signature string) error) (app.Result, connEnd) {
	c.used++
	began := time.Now()
	x := &exchange{relay: r, ctx: ending, conn: c, m: m, message: b, transcript: transcript{lines: c.transcriptBuf[:0]}}
	res, end := x.run(ctx, authorize)
	res.TLS, res.Took = c.tls, max(time.Since(began), time.Millisecond)
	if !acceptedByAll(res) {
		res.Conversation = x.conversation(res)
	}
	c.transcriptBuf = x.transcript.lines
	return res, end
}

// run sends the message and, if authorize agrees, the final dot.
func (x *exchange) run(ctx context.Context, authorize func(ctx context.Context, signature string) error) (app.Result, connEnd) {
	release := context.AfterFunc(x.ctx, x.conn.cut)
	ready, res, end := x.sendBody()
	if !ready {
		if !release() {
			end = connBroken // the socket is being closed
		}
		return res, end
	}
	if err := authorize(ctx, x.message.reusableSignature()); err != nil {
		release()
		x.conn.cut()
		return withdrawn(), connBroken
	}
	if !release() {
		return x.trouble(app.StageDot, x.ctx.Err()), connBroken
	}
	return x.sendDot()
}

// sendBody sends everything before the final dot. ready is false if the transaction ended earlier.
func (x *exchange) sendBody() (ready bool, res app.Result, end connEnd) {
	if reason, ok := x.checkLimits(); !ok {
		return false, app.Result{Kind: app.ResultRefused, Stage: app.StageMail, Reply: reason}, connReusable
	}
	if !x.prepare() {
		return false, app.Result{Kind: app.ResultDone, Stage: app.StageRcpt, Recipients: x.results}, connReusable
	}
	if err := x.mail(); err != nil {
		if res, end = x.failed(app.StageMail, err); end == connReusable {
			end = x.drainReplies()
		}
		return false, res, x.staleness(err, end)
	}
	if err := x.recipients(); err != nil {
		res, end = x.failed(app.StageRcpt, err)
		return false, res, end
	}
	if x.accepted == 0 {
		return false, app.Result{Kind: app.ResultDone, Stage: app.StageRcpt, Recipients: x.results}, x.reset()
	}
	if _, err := x.command(354); err != nil {
		if res, end = x.failed(app.StageData, err); end == connReusable {
			end = x.reset()
		}
		return false, res, end
	}
	if err := x.writeBody(); err != nil {
		res, _ = x.failed(app.StageData, err)
		return false, res, connBroken
	}
	return true, app.Result{}, connReusable
}

// checkLimits returns why the relay can't accept the message at all (RFC 1870, RFC 6531), before
// anything is sent.
func (x *exchange) checkLimits() (app.Reply, bool) {
	if err := checkPath(x.m.EnvelopeFrom); err != nil {
		return app.Reply{Enhanced: "5.1.7", Text: x.relay.sanitizer.text(err.Error())}, false
	}
	if limit := x.conn.offer.limit; limit > 0 && x.message.size() > limit {
		return app.Reply{Enhanced: "5.3.4", Text: "the message has " + strconv.FormatInt(x.message.size(), 10) +
			" bytes, the relay takes " + strconv.FormatInt(limit, 10)}, false
	}
	if !x.conn.offer.utf8 && x.needsUTF8() {
		return app.Reply{Enhanced: "5.6.7", Text: "an address or header needs SMTPUTF8, which the relay does not offer"}, false
	}
	return app.Reply{}, true
}

func (x *exchange) needsUTF8() bool {
	if x.message.utf8 || !isASCII(x.m.EnvelopeFrom) {
		return true
	}
	for _, address := range x.m.Recipients {
		if !isASCII(address) {
			return true
		}
	}
	return false
}

// prepare writes the commands to the buffer: MAIL, RCPT for each recipient, and DATA. It reports
// whether a recipient is left: an address that can't be written in a command is refused without the
// relay.
func (x *exchange) prepare() bool {
	x.results = make([]app.RecipientResult, len(x.m.Recipients))
	lines, asked := x.appendMail(x.conn.commandBuf[:0]), false
	for i, address := range x.m.Recipients {
		x.results[i] = app.RecipientResult{Address: address, Outcome: app.Accepted, Stage: app.StageRcpt}
		if err := checkPath(address); err != nil {
			x.results[i].Outcome = app.Refused
			x.results[i].Reply = app.Reply{Enhanced: "5.1.3", Text: x.relay.sanitizer.text(err.Error())}
			continue
		}
		lines = append(append(append(lines, "RCPT TO:<"...), address...), ">\r\n"...)
		asked = true
	}
	lines = append(lines, "DATA\r\n"...)
	x.conn.commandBuf, x.unsent = lines, lines
	return asked
}

func (x *exchange) appendMail(line []byte) []byte {
	line = append(append(append(line, "MAIL FROM:<"...), x.m.EnvelopeFrom...), '>')
	if x.conn.offer.eightBit {
		line = append(line, " BODY=8BITMIME"...)
	}
	if x.conn.offer.size {
		line = strconv.AppendInt(append(line, " SIZE="...), x.message.size(), 10)
	}
	if x.needsUTF8() {
		line = append(line, " SMTPUTF8"...)
	}
	return append(line, crlf...)
}

// command returns the reply to the next command. With PIPELINING the first call sends all commands
// (RFC 2920): DATA must be last, and the longest group, some 16 KB, fits the buffers of both sides.
// Without PIPELINING each call sends one.
func (x *exchange) command(want int) (string, error) {
	if x.pending == 0 {
		group := x.unsent
		if !x.conn.offer.pipelining {
			group = group[:bytes.IndexByte(group, '\n')+1]
		}
		x.unsent, x.pending = x.unsent[len(group):], bytes.Count(group, []byte{'\n'})
		x.transcript.unanswered = group
		if err := x.conn.send(group); err != nil {
			return "", err
		}
	}
	x.pending--
	text, err := x.conn.readReply(want, x.relay.cfg.Timeout)
	x.transcript.addReply(x.conn.last)
	return text, err
}

// mail begins the transaction. Data that the relay sent unasked would be taken for the reply.
func (x *exchange) mail() error {
	if x.conn.in.Buffered() > 0 {
		return errUnexpectedReply
	}
	_, err := x.command(250)
	return err
}

// staleness returns connStale for a failed MAIL on a connection that the relay has closed in the
// meantime, with or without a 421.
func (x *exchange) staleness(err error, end connEnd) connEnd {
	if x.ctx.Err() != nil || isTimeout(err) {
		return end
	}
	if answer := replyError(err); answer != nil && answer.Code != 421 {
		return end
	}
	return connStale
}

// recipients reads the reply for each recipient. A refused recipient does not stop the others. An
// error is trouble of the relay.
func (x *exchange) recipients() error {
	for i := range x.results {
		res := &x.results[i]
		if res.Outcome != app.Accepted {
			continue
		}
		if _, err := x.command(25); err != nil {
			answer := replyError(err)
			if answer == nil || x.relay.rules.kindOf(answer.Code) == app.ResultTrouble {
				return err
			}
			res.Reply = x.relay.sanitizer.replyOf(answer)
			res.Outcome = x.relay.rules.outcomeOf(res.Reply)
			continue
		}
		x.accepted++
	}
	return nil
}

// reset prepares the connection for the next transaction.
func (x *exchange) reset() connEnd {
	if x.drainReplies() != connReusable {
		return connBroken
	}
	x.unsent = []byte("RSET\r\n")
	if _, err := x.command(250); err != nil {
		return connBroken
	}
	return connReusable
}

// drainReplies reads the remaining replies of a failed group of commands. If the relay waits for
// the message nevertheless, it gets the final dot alone (RFC 2920 3.1), unless it accepted a
// recipient, who would get an empty message.
func (x *exchange) drainReplies() connEnd {
	taken := false
	for x.pending > 0 {
		_, err := x.command(25)
		answer := replyError(err)
		switch {
		case err == nil:
			taken = true
		case answer == nil || answer.Code == 421:
			return connBroken
		case answer.Code/100 == 3:
			if taken || x.pending > 0 {
				return connBroken
			}
			return x.sendEmptyMessage()
		}
	}
	if taken { // accepted DATA, or RCPT without MAIL: the dialogue is out of sync
		return connBroken
	}
	return connReusable
}

// sendEmptyMessage ends a message without recipients and content.
func (x *exchange) sendEmptyMessage() connEnd {
	x.unsent = []byte(".\r\n")
	_, err := x.command(250)
	if answer := replyError(err); err != nil && (answer == nil || answer.Code == 421) {
		return connBroken
	}
	return connReusable
}

// writeBody writes the message without its last CRLF, which is sent with the final dot.
func (x *exchange) writeBody() error {
	x.transcript.addBody()
	if len(x.message.tail) == 0 {
		return x.writeLines(bytes.TrimSuffix(x.message.head, crlf))
	}
	if err := x.writeLines(x.message.head); err != nil {
		return err
	}
	return x.writeLines(bytes.TrimSuffix(x.message.tail, crlf))
}

// writeLines writes complete lines; the last one may be incomplete.
func (x *exchange) writeLines(message []byte) error {
	if dotLine(message, 0) < 0 {
		_, err := x.conn.Write(message)
		return err
	}
	out := bufio.NewWriterSize(x.conn, bodyChunk)
	if err := writeStuffed(out, message); err != nil {
		return err
	}
	return out.Flush()
}

var crlf = []byte("\r\n")

// writeStuffed doubles each dot at the start of a line (RFC 5321 4.5.2).
func writeStuffed(w io.Writer, message []byte) error {
	begin := 0
	for at := dotLine(message, 0); at >= 0; at = dotLine(message, at+1) {
		if _, err := w.Write(message[begin : at+1]); err != nil {
			return err
		}
		begin = at // repeats the dot
	}
	_, err := w.Write(message[begin:])
	return err
}

// dotLine returns the index of the next dot at the start of a line, from an index on; -1: none.
func dotLine(message []byte, from int) int {
	if from == 0 && len(message) > 0 && message[0] == '.' {
		return 0
	}
	for {
		end := bytes.IndexByte(message[from:], '\n')
		if from += end + 1; end < 0 || from == len(message) {
			return -1
		}
		if message[from] == '.' {
			return from
		}
	}
}

// failed is the result of an error before the final dot.
func (x *exchange) failed(stage app.Stage, err error) (app.Result, connEnd) {
	answer := replyError(err)
	if answer == nil {
		return x.trouble(stage, err), connBroken
	}
	kind := x.relay.rules.kindOf(answer.Code)
	if kind == app.ResultTrouble {
		return x.trouble(stage, err), connBroken
	}
	return x.ended(kind, stage, x.relay.sanitizer.replyOf(answer)), connReusable
}

// trouble is the result of a connection that ended during a transaction. Recipients that were
// answered keep their outcomes.
func (x *exchange) trouble(stage app.Stage, err error) app.Result {
	return x.ended(app.ResultTrouble, stage, x.relay.replyTo(x.ctx, err, x.relay.cfg.Timeout))
}

// sendDot sends the final dot and waits for the reply. Only Close ends the wait before the timeout.
func (x *exchange) sendDot() (app.Result, connEnd) {
	r := x.relay
	release := context.AfterFunc(r.closing, x.conn.cut)
	x.transcript.unanswered = []byte(".\r\n")
	text, err := x.finish()
	x.transcript.addReply(x.conn.last)
	closed := !release()
	res, end := x.afterDot(text, err)
	if closed {
		end = connBroken
	}
	return res, end
}

func (x *exchange) finish() (string, error) {
	if err := x.conn.send([]byte("\r\n.\r\n")); err != nil {
		return "", err
	}
	return x.conn.readReply(250, dotFactor*x.relay.cfg.Timeout)
}

func (x *exchange) afterDot(text string, err error) (app.Result, connEnd) {
	clean := x.relay.sanitizer
	if err == nil {
		return x.done(clean.reply(250, text)), connReusable
	}
	refusal := replyError(err)
	if refusal == nil {
		reply := x.relay.replyTo(context.Background(), err, dotFactor*x.relay.cfg.Timeout)
		return x.ended(app.ResultDoubt, app.StageDot, reply), connBroken
	}
	reply := clean.replyOf(refusal)
	if refusal.Code/100 == 2 {
		return x.done(reply), connReusable
	}
	kind := x.relay.rules.kindAtDot(refusal.Code, app.ResultDoubt)
	if kind == app.ResultDoubt || refusal.Code == 421 {
		return x.ended(kind, app.StageDot, reply), connBroken
	}
	return x.ended(kind, app.StageDot, reply), connReusable
}

// done is the result of a message that was accepted for the accepted recipients.
func (x *exchange) done(reply app.Reply) app.Result {
	for i := range x.results {
		if x.results[i].Outcome == app.Accepted {
			x.results[i].Stage, x.results[i].Reply = app.StageDot, reply
		}
	}
	return app.Result{Kind: app.ResultDone, Stage: app.StageDot, Reply: reply, Recipients: x.results}
}

// ended is a result whose kind applies to all recipients without an outcome of their own.
func (x *exchange) ended(kind app.ResultKind, stage app.Stage, reply app.Reply) app.Result {
	var decided []app.RecipientResult
	for _, res := range x.results {
		if res.Outcome != app.Accepted {
			decided = append(decided, res)
		}
	}
	return app.Result{Kind: kind, Stage: stage, Reply: reply, Recipients: decided}
}
