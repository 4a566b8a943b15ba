package receiving

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/inbound"
	"mailer/app/rules/mailauth"
	"mailer/app/rules/webhook"
	"mailer/app/sending/mail"
	"mailer/db"
)

// duplicateWithin is how long a message that a peer transfers again is recognised.
const duplicateWithin = 24 * time.Hour

// smallMessage is the size up to which a message is stored in one Write with its row.
const smallMessage = 64 << 10

// Take stores a message for each team among its recipients and announces it, unless routes of the team say otherwise. It
// returns nil once all of that is on disk. A team that has the same message of the last day already does not get it again, so a peer that got no answer
// can transfer it again. Take waits until ctx ends for memory, of which all messages together have a bound. Errors:
// ErrFull, ErrTooLarge, those of the store and of ctx; some of the teams may have the message then.
func (s *Service) Take(ctx context.Context, in Delivery) error {
	if len(in.To) == 0 {
		return errors.New("receiving: a message without recipients")
	}
	if in.Size > s.memory.Capacity {
		return ErrTooLarge
	}
	need := min(parsedFactor*in.Size+textFactor*min(in.Size, inbound.MaxBodies)+smallMessage, s.memory.Capacity)
	if err := s.memory.Acquire(ctx, in.To[0].TeamID, need); err != nil {
		return fmt.Errorf("wait for memory for a received message: %w", err)
	}
	defer s.memory.Release(in.To[0].TeamID, need)
	raw := make([]byte, in.Size)
	if _, err := io.ReadFull(io.NewSectionReader(in.Raw, 0, in.Size), raw); err != nil {
		return fmt.Errorf("read a received message: %w", err)
	}
	m := inbound.Parse(raw)
	auth := s.Check(ctx, mailauth.Input{Raw: raw, Remote: in.RemoteIP, Helo: in.Helo, MailFrom: in.MailFrom, FromDomains: m.FromDomains})
	spam := s.askSpamFilter(ctx, &in, raw)
	content := sha256.Sum256(raw)
	for len(in.To) > 0 {
		teamID := in.To[0].TeamID
		own := slices.Collect(func(yield func(Target) bool) {
			for _, t := range in.To {
				if t.TeamID == teamID && !yield(t) {
					return
				}
			}
		})
		in.To = slices.DeleteFunc(slices.Clone(in.To), func(t Target) bool { return t.TeamID == teamID })
		if err := s.store(ctx, &in, m, auth, spam, own, content[:], raw); err != nil {
			return err
		}
	}
	return nil
}

// store stores a message for one team.
func (s *Service) store(ctx context.Context, in *Delivery, m *inbound.Message, auth app.ReceivedAuth, spam *app.ReceivedSpam, own []Target, content, raw []byte) error {
	e := &app.Received{ID: app.NewID(), TeamID: own[0].TeamID, DomainID: own[0].DomainID, MailFrom: in.MailFrom, Helo: app.CutText(in.Helo, maxHelo), RemoteIP: in.RemoteIP.String(),
		From: m.From, FromEmail: m.FromEmail, To: m.To, Cc: m.Cc, Bcc: m.Bcc, ReplyTo: m.ReplyTo, Subject: m.Subject, MessageID: m.MessageID, Headers: m.Headers, Size: in.Size,
		Text: m.Text, HTML: m.HTML, ReplyText: inbound.ReplyText(m), Files: slices.Clone(m.Files), Auth: auth, AutoSubmitted: m.AutoSubmitted(in.MailFrom == ""), Spam: spam, CreatedAt: clock.Now()}
	for i := range e.Files {
		e.Files[i].ID = app.NewID()
	}
	for _, t := range own {
		e.Recipients = append(e.Recipients, t.Address)
	}
	digest := digestOf(e.Recipients, e.MessageID, content)
	seen := func(r *db.Reader) (bool, error) {
		return r.HasReceived(e.TeamID, digest, clock.Now().Add(-duplicateWithin))
	}
	if dup, err := db.Get(ctx, s.DB, seen); err != nil || dup {
		return base.Unavailable(err)
	}
	plan, err := s.routes.Plan(ctx, e, m, content)
	if err != nil || !plan.Store {
		return err // dropped
	}
	sender, hash := s.sender(e)
	candidates := s.candidates(e.Recipients, m)
	small := in.Size <= smallMessage
	if !small {
		if err := s.storePieces(ctx, e.ID, raw); err != nil {
			return err
		}
	}
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		if dup, err := seen(&tx.Reader); err != nil || dup {
			return err // another connection stored it meanwhile: the pieces are left for the sweep
		}
		if err := s.checkDay(&tx.Reader, e.TeamID, tx.Now); err != nil {
			return err
		}
		e.CreatedAt = tx.Now
		if small {
			if err := tx.InsertReceivedPiece(e.ID, 0, raw); err != nil {
				return err
			}
		}
		broadcastID, err := relate(tx, e, candidates, sender, hash)
		if err != nil {
			return err
		}
		if err := s.routes.Apply(tx, plan, e); err != nil {
			return err
		}
		if err := tx.InsertReceived(e, digest); err != nil {
			return err
		}
		return s.announce(tx, e, plan.Announce, broadcastID, hash)
	})
	if errors.Is(err, ErrFull) {
		return err
	}
	return base.Unavailable(err)
}

const maxHelo = 255

// askSpamFilter returns what the spam filter says of a message; nil: there is none, or it failed, which is logged.
func (s *Service) askSpamFilter(ctx context.Context, in *Delivery, raw []byte) *app.ReceivedSpam {
	if s.AskSpamFilter == nil {
		return nil
	}
	question := &app.SpamQuestion{Raw: raw, RemoteIP: in.RemoteIP.String(), Helo: in.Helo, MailFrom: in.MailFrom}
	for _, t := range in.To {
		question.Recipients = append(question.Recipients, t.Address)
	}
	spam, err := s.AskSpamFilter(ctx, question)
	if err != nil {
		s.Log.Error("ask the spam filter about received mail; it is taken without an answer", "err", err)
		return nil
	}
	return spam
}

// replyPayload is the payload of the event of a contact that answered an email.
type replyPayload struct {
	EmailID     string `json:"email_id"`
	ReceivedID  string `json:"received_id"`
	BroadcastID string `json:"broadcast_id,omitzero"`
	TemplateID  string `json:"template_id,omitzero"`
}

// announce stores the webhook events of a received email: email.received if wanted, and email.replied if a recipient of
// one of the team's emails answered it in person. from is the sender.
func (s *Service) announce(tx *db.Tx, e *app.Received, wanted bool, broadcastID string, from app.AddressHash) error {
	data := func() (any, error) { return webhook.ReceivedDataOf(e), nil }
	if wanted {
		if err := s.events.Announce(tx, e.TeamID, webhook.EmailReceived, data); err != nil {
			return err
		}
	}
	if !e.Proven || e.AutoSubmitted != app.AutoNone {
		return nil
	}
	recipient := ""
	if broadcastID != "" {
		recipient = e.Answers
	}
	if err := tx.NoteReply(e.TeamID, from, recipient, tx.Now); err != nil {
		return err
	}
	if err := s.events.Announce(tx, e.TeamID, webhook.EmailReplied, data); err != nil || e.ContactID == "" || s.OnSignal == nil {
		return err
	}
	template, chain, err := mail.Origin(tx, e.TeamID, e.Answers)
	if err != nil {
		return err
	}
	payload, err := json.Marshal(replyPayload{e.Answers, e.ID, broadcastID, template}, json.Deterministic(true))
	if err != nil {
		return err
	}
	return s.OnSignal(tx, app.Signal{TeamID: e.TeamID, ContactID: e.ContactID, Name: app.TriggerEmailReplied, Payload: payload, Chain: chain})
}

// storePieces stores the bytes of a large message, some in each Write.
func (s *Service) storePieces(ctx context.Context, id string, raw []byte) error {
	const perWrite = 4
	n := 0
	for chunk := range slices.Chunk(raw, perWrite*app.ReceivedPiece) {
		first := n
		err := s.DB.Write(ctx, func(tx *db.Tx) error {
			i := first
			for piece := range slices.Chunk(chunk, app.ReceivedPiece) {
				if err := tx.InsertReceivedPiece(id, i, piece); err != nil {
					return err
				}
				i++
			}
			return nil
		})
		if err != nil {
			return base.Unavailable(err)
		}
		n += (len(chunk) + app.ReceivedPiece - 1) / app.ReceivedPiece
	}
	return nil
}

// digestOf is the same for a message that is transferred again.
func digestOf(recipients []string, messageID string, content []byte) []byte {
	h := sha256.New()
	fmt.Fprintf(h, "%d\n", len(recipients))
	for _, r := range slices.Sorted(slices.Values(recipients)) {
		fmt.Fprintf(h, "%s\n", strings.ToLower(r))
	}
	fmt.Fprintf(h, "%s\n", messageID)
	h.Write(content)
	return h.Sum(nil)
}
