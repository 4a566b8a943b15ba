package smtpout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mailer/app"
	"mailer/app/rules/rawmail"
)

// adapt returns the form of a raw message that a relay accepts: unchanged if it offers 8BITMIME
// (RFC 6152) and SMTPUTF8 (RFC 6531) as needed, else with its 8-bit parts and fields encoded and
// signed again. If that is impossible, bad is the result of the transaction.
func (b *builder) adapt(ctx context.Context, m *app.Outgoing, message *built, o offer) (out *built, bad *app.Result) {
	if m.Mail == nil || m.Mail.Raw == nil || (o.eightBit || !message.eightBit) && (o.utf8 || !message.utf8) {
		return message, nil
	}
	mail, plain := *m.Mail, *m
	if err := downgrade(&mail, message, o); err != nil {
		text := replySanitizer{}.text("the relay does not offer " + missingExtension(message, o) + ", and the message can't be sent without it: " + err.Error())
		return message, &app.Result{Kind: app.ResultRefused, Stage: app.StageMail, Reply: app.Reply{Enhanced: "5.6.3", Text: text}}
	}
	plain.Mail, plain.Signature = &mail, ""
	if out, bad = b.build(ctx, &plain); bad != nil {
		return message, bad
	}
	out.adapted = true
	return out, nil
}

// missingExtension returns the extension that a message needs and the relay does not offer.
func missingExtension(message *built, o offer) string {
	if message.eightBit && !o.eightBit {
		return "8BITMIME"
	}
	return "SMTPUTF8"
}

// downgrade encodes a mail so that it needs no extension that is not offered.
func downgrade(mail *app.Mail, message *built, o offer) (err error) {
	if message.eightBit && !o.eightBit {
		if mail.Raw, err = rawmail.SevenBit(mail.Raw); err != nil {
			return err
		}
	}
	if !message.utf8 || o.utf8 {
		return nil
	}
	fields, body := rawmail.Fields(mail.Raw)
	var w headerWriter
	for _, f := range fields {
		if line := mail.Raw[f.From:f.To]; isASCII(line) {
			w.buf = append(w.buf, line...)
		} else if err := w.downgraded(f); err != nil {
			return err
		}
	}
	mail.Raw = slices.Concat(w.buf, crlf, mail.Raw[body:])
	return nil
}

// Fields that are not unstructured text, in lower case. Their values can't be encoded.
var (
	addressFields    = []string{"from", "sender", "reply-to", "to", "cc", "resent-from", "resent-sender", "resent-to", "resent-cc"}
	structuredFields = []string{"message-id", "in-reply-to", "references", "date", "mime-version", "received", "dkim-signature", "return-path"}
)

// downgraded writes a field with encoded words (RFC 2047).
func (w *headerWriter) downgraded(f rawmail.Field) error {
	lower := strings.ToLower(f.Name)
	switch {
	case slices.Contains(addressFields, lower):
		list, err := rawmail.Addresses(f)
		if err != nil {
			return fmt.Errorf("%s can't be read", f.Name)
		}
		for _, a := range list {
			if !isASCII(a.Local) || !isASCII(a.Domain) {
				return errors.New("an address in " + f.Name + " is not ASCII")
			}
		}
		w.addresses(f.Name, list)
	case slices.Contains(structuredFields, lower), strings.HasPrefix(lower, "content-"), strings.HasPrefix(lower, "list-"), strings.HasPrefix(lower, "arc-"):
		return errors.New(f.Name + " is not ASCII")
	default:
		w.text(f.Name, f.Value)
	}
	return nil
}
