package smtpout

import (
	"context"
	"io"
	"strconv"

	"github.com/emersion/go-smtp"

	"mailer/app"
)

// connEnd says what a transaction leaves of its connection.
type connEnd int

const (
	connGood  connEnd = iota // fit for the next transaction
	connBad                  // to be dropped
	connStale                // the relay had left before MAIL was answered
)

// exchange is one transaction on one connection.
type exchange struct {
	relay   *Relay
	ctx     context.Context // ends the transaction, up to the dot
	conn    *conn
	m       *app.Outgoing
	message *built
	// results has one entry for each recipient asked for; Accepted means here
	// that RCPT was.
	results  []app.RecipientResult
	accepted int
}

// transact carries out one transaction (RFC 5321 3.3). ending is ctx, or ends
// sooner by Close; ctx itself is what hold gets.
func (r *Relay) transact(ctx, ending context.Context, c *conn, m *app.Outgoing, b *built,
	hold func(ctx context.Context, signature string) error) (app.Result, connEnd) {
	c.used++
	x := &exchange{relay: r, ctx: ending, conn: c, m: m, message: b}
	release := context.AfterFunc(ending, c.cut)
	data, res, end := x.upToDot()
	if data == nil {
		if !release() {
			end = connBad // its socket is closed, or about to be
		}
		return res, end
	}
	if err := hold(ctx, b.signature); err != nil {
		release()
		c.cut()
		return withdrawn(), connBad
	}
	if !release() {
		return r.trouble(ending, app.StageDot, ending.Err()), connBad
	}
	return x.dot(data)
}

// upToDot goes as far as the whole body; data is nil when the transaction ended
// before.
func (x *exchange) upToDot() (data *smtp.DataCommand, res app.Result, end connEnd) {
	if reason, ok := x.fits(); !ok {
		return nil, app.Result{Kind: app.ResultRefused, Stage: app.StageMail, Reply: reason}, connGood
	}
	if err := x.mail(); err != nil {
		res, end = x.failed(app.StageMail, err)
		return nil, res, x.staleness(err, end)
	}
	if err := x.recipients(); err != nil {
		res, end = x.failed(app.StageRcpt, err)
		return nil, res, end
	}
	if x.accepted == 0 {
		return nil, app.Result{Kind: app.ResultDone, Stage: app.StageRcpt, Recipients: x.results}, x.clear()
	}
	data, err := x.conn.client.Data()
	if err != nil {
		if res, end = x.failed(app.StageData, err); end == connGood {
			end = x.clear()
		}
		return nil, res, end
	}
	if err := x.body(data); err != nil {
		res, _ = x.failed(app.StageData, err)
		return nil, res, connBad
	}
	return data, app.Result{}, connGood
}

// fits says why this relay can't carry the message at all (RFC 1870, RFC 6531),
// before anything is sent.
func (x *exchange) fits() (app.Reply, bool) {
	if err := checkPath(x.m.EnvelopeFrom); err != nil {
		return app.Reply{Enhanced: "5.1.7", Text: x.relay.clean.words(err.Error())}, false
	}
	if limit := x.conn.limit(); limit > 0 && x.message.size() > limit {
		return app.Reply{Enhanced: "5.3.4", Text: "the message has " + strconv.FormatInt(x.message.size(), 10) +
			" bytes, the relay takes " + strconv.FormatInt(limit, 10)}, false
	}
	if offered, _ := x.conn.client.Extension("SMTPUTF8"); !offered && x.needsUTF8() {
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

func (x *exchange) mail() error {
	return x.conn.client.Mail(x.m.EnvelopeFrom, &smtp.MailOptions{Size: x.message.size(), UTF8: x.needsUTF8()})
}

// staleness turns a failed MAIL on a connection that the relay has left in the
// meantime, with or without a 421 for goodbye, into connStale.
func (x *exchange) staleness(err error, end connEnd) connEnd {
	if x.ctx.Err() != nil || isTimeout(err) {
		return end
	}
	if answer := answerIn(err); answer != nil && answer.Code != 421 {
		return end
	}
	return connStale
}

// recipients asks for each recipient by itself: one that is refused must not
// stop the others. An error is trouble of the relay.
func (x *exchange) recipients() error {
	x.results = make([]app.RecipientResult, 0, len(x.m.Recipients))
	for _, address := range x.m.Recipients {
		res := app.RecipientResult{Address: address, Verdict: app.Accepted, Stage: app.StageRcpt}
		if err := checkPath(address); err != nil {
			res.Verdict = app.Refused
			res.Reply = app.Reply{Enhanced: "5.1.3", Text: x.relay.clean.words(err.Error())}
		} else if err := x.conn.client.Rcpt(address, nil); err != nil {
			answer := answerIn(err)
			if answer == nil || kindOf(answer.Code) == app.ResultTrouble {
				return err
			}
			res.Reply = x.relay.clean.replyOf(answer)
			res.Verdict = verdictOf(res.Reply)
		}
		if res.Verdict == app.Accepted {
			x.accepted++
		}
		x.results = append(x.results, res)
	}
	return nil
}

// verdictOf sorts a 4xx or 5xx to RCPT. "Too many recipients" is about the
// others, whatever its class (RFC 5321 4.5.3.1.10, RFC 3463 3.6).
func verdictOf(reply app.Reply) app.Verdict {
	if kindOf(reply.Code) == app.ResultRefused && reply.Enhanced != "5.5.3" {
		return app.Refused
	}
	return app.Postponed
}

// clear makes the connection fit for the next transaction.
func (x *exchange) clear() connEnd {
	if err := x.conn.reset(); err != nil {
		return connBad
	}
	return connGood
}

// body writes all but the final dot. go-smtp doubles leading dots, and holds the
// last 4 KiB back until the dot: they then leave in one packet with it.
func (x *exchange) body(w io.Writer) error {
	if _, err := io.WriteString(w, x.message.signature); err != nil {
		return err
	}
	_, err := w.Write(x.message.message)
	return err
}

// failed is the result of an error that came before the final dot.
func (x *exchange) failed(stage app.Stage, err error) (app.Result, connEnd) {
	answer := answerIn(err)
	if answer == nil || kindOf(answer.Code) == app.ResultTrouble {
		return x.relay.trouble(x.ctx, stage, err), connBad
	}
	return x.ended(kindOf(answer.Code), stage, x.relay.clean.replyOf(answer)), connGood
}

// dot sends the final dot and waits for what the relay makes of the message.
// Only Close ends the waiting before its time.
func (x *exchange) dot(data *smtp.DataCommand) (app.Result, connEnd) {
	r := x.relay
	release := context.AfterFunc(r.closing, x.conn.cut)
	answer, err := data.CloseWithResponse()
	closed := !release()
	res, end := x.afterDot(answer, err)
	if closed {
		end = connBad
	}
	return res, end
}

func (x *exchange) afterDot(answer *smtp.DataResponse, err error) (app.Result, connEnd) {
	clean := x.relay.clean
	if err == nil {
		return x.done(clean.reply(250, answer.StatusText)), connGood
	}
	refusal := answerIn(err)
	if refusal == nil {
		reply := x.relay.replyTo(context.Background(), err, dotFactor*x.relay.cfg.Timeout)
		return x.ended(app.ResultDoubt, app.StageDot, reply), connBad
	}
	reply := clean.replyOf(refusal)
	if refusal.Code/100 == 2 {
		return x.done(reply), connGood
	}
	kind := kindAtDot(refusal.Code, app.ResultDoubt)
	if kind == app.ResultDoubt || refusal.Code == 421 {
		return x.ended(kind, app.StageDot, reply), connBad
	}
	return x.ended(kind, app.StageDot, reply), connGood
}

// done is the result of a message that was taken for those whose RCPT was.
func (x *exchange) done(reply app.Reply) app.Result {
	for i := range x.results {
		if x.results[i].Verdict == app.Accepted {
			x.results[i].Stage, x.results[i].Reply = app.StageDot, reply
		}
	}
	return app.Result{Kind: app.ResultDone, Stage: app.StageDot, Reply: reply, Recipients: x.results}
}

// ended is a result whose kind speaks for all recipients but those that were
// refused or postponed by name.
func (x *exchange) ended(kind app.ResultKind, stage app.Stage, reply app.Reply) app.Result {
	var decided []app.RecipientResult
	for _, res := range x.results {
		if res.Verdict != app.Accepted {
			decided = append(decided, res)
		}
	}
	return app.Result{Kind: kind, Stage: stage, Reply: reply, Recipients: decided}
}
