package smtpout

import (
	"errors"
	"fmt"

	"mailer/app"
	"mailer/app/rules/rawmail"
)

// composeRaw composes a raw message: it puts missing fields before the original header and signs
// the result. The body is not copied. The bytes are the same on every call.
func (b *builder) composeRaw(out *built, m *app.Outgoing) (err error) {
	if err := checkRaw(m); err != nil {
		return fmt.Errorf("compose message: %w", err)
	}
	raw := m.Mail.Raw
	_, body := rawmail.Fields(raw)
	w := headerWriter{buf: out.buffer[:signatureReserve]}
	for _, h := range rawmail.MissingHeaders(m) {
		w.custom(h.Name, h.Value)
	}
	w.buf = append(w.buf, raw[:body]...)
	head, tail := w.buf[signatureReserve:], raw[body:]
	if out.signature = m.Signature; out.signature == "" && b.sign && m.DKIM != nil {
		if out.signature, err = sign(head, m.DKIM, b.profile, tail...); err != nil {
			return err
		}
	}
	out.prepend(w.buf)
	if out.tail = tail; !cleanLines(out.head) || !cleanLines(tail) {
		return errBareLine
	}
	out.utf8, out.eightBit = !isASCII(head), !isASCII(tail)
	return nil
}

// checkRaw is checkOutgoing for the fields that are added to a raw message.
func checkRaw(m *app.Outgoing) error {
	switch {
	case m.Mail.From.IsErased():
		return errors.New("the sender was erased")
	case !isBoundaryText(m.EmailID):
		return errors.New("email id is not an id")
	case m.MessageID == "" || hasControl(m.MessageID):
		return errors.New("message id is not valid")
	}
	for _, h := range m.Mail.Headers {
		if h.Name == "" || h.Value == "" || hasControl(h.Name) || hasControl(h.Value) {
			return errors.New("custom header is not valid")
		}
	}
	return nil
}
