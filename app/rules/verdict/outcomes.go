package verdict

import (
	"cmp"
	"slices"
	"strings"

	"mailer/app"
)

// outcome is the outcome of one recipient.
type outcome struct {
	code   Code
	params VerdictParams
}

// TestWords begin the message of an event of a test recipient. The simulated outcome follows.
const TestWords = "Test recipient: "

// outcomes returns the outcome of each recipient.
func (f *Facts) outcomes() []outcome {
	recipients := f.Recipients
	if len(recipients) == 0 { // damaged or deleted: waiting mail still has a reason
		recipients = []Recipient{{State: app.Queued}}
	}
	out := make([]outcome, 0, len(recipients))
	for i := range recipients {
		r := &recipients[i]
		e := f.outcomeOf(r)
		e.params.Address, e.params.Domain = r.Address, domainOf(r.Address)
		e.params.Relay, e.params.FromDomain, e.params.BroadcastID = cmp.Or(e.params.Relay, f.Relay), f.FromDomain, f.BroadcastID
		if listedMatters[e.code] {
			e.params.SuppressedSince = stamp(r.Listed.Since)
		}
		out = append(out, e)
	}
	return f.answered(f.read(out))
}

// domainOf returns the domain of an address; empty for an erased one.
func domainOf(address string) string {
	if at := strings.LastIndexByte(address, '@'); at >= 0 {
		return strings.ToLower(address[at+1:])
	}
	return ""
}

// listedMatters are the codes whose sentences contain the time of the suppression.
var listedMatters = map[Code]bool{
	Complained: true, BouncedUnknownUser: true, BouncedDisabled: true, BouncedNoDomain: true, BouncedBadAddress: true, BouncedFull: true, BouncedProviderList: true,
	SuppressedBounce: true, SuppressedComplaint: true, SuppressedManual: true, SuppressedUnsubscribe: true,
}

// outcomeOf returns the outcome of one recipient without the parameters of the email.
func (f *Facts) outcomeOf(r *Recipient) outcome {
	switch r.State {
	case app.Queued, app.Scheduled, "":
		return f.waits(r)
	case app.Suppressed:
		return f.suppressed(r)
	case app.Canceled:
		return f.canceled(r)
	}
	ev := f.eventOf(r, app.EventType(r.State))
	p := VerdictParams{At: stamp(ev.CreatedAt)}
	if strings.HasPrefix(ev.Detail.Message, TestWords) {
		return outcome{TestRecipient, VerdictParams{Outcome: string(r.State)}}
	}
	p.setAnswer(&ev.Detail)
	switch r.State {
	case app.Bounced:
		p.Server = f.server(r, &ev)
		return outcome{bounced(&ev.Detail), p}
	case app.Failed:
		return outcome{f.failure(r, &ev, &p), p}
	case app.Complained:
		return outcome{Complained, VerdictParams{At: p.At}}
	case app.DeliveryDelayed:
		return outcome{DeliveryDelayed, p}
	}
	return f.arrived(r, VerdictParams{At: p.At})
}

// arrived returns the outcome of a recipient that a relay accepted.
func (f *Facts) arrived(r *Recipient, p VerdictParams) outcome {
	switch {
	case f.Relay == app.CaptureRegion:
		return outcome{Captured, p}
	case r.State == app.Sent:
		f.setReserve(r, &p)
		return outcome{Sent, p}
	case r.State == app.Delivered, len(f.Recipients) > 1 && (r.State == app.Opened || r.State == app.Clicked):
		f.setReserve(r, &p)
		return outcome{Delivered, p}
	case r.State == app.Opened:
		return outcome{Opened, p}
	case r.State == app.Clicked:
		return outcome{Clicked, p}
	}
	return outcome{Unknown, p}
}

// setReserve sets that a reserve of the region sent an email.
func (f *Facts) setReserve(r *Recipient, p *VerdictParams) {
	if d := f.eventOf(r, app.EventType(app.Sent)).Detail; d.Because != "" {
		p.Region, p.Relay, p.Because = f.Relay, app.ShortRelay(d.Relay), d.Because
	}
}

// read replaces delivered outcomes by opened, clicked or unsubscribed if all recipients were
// reached: it is unknown which of several recipients opened.
func (f *Facts) read(ends []outcome) []outcome {
	if slices.ContainsFunc(ends, func(e outcome) bool {
		return e.code != Sent && e.code != Delivered && e.code != Opened && e.code != Clicked
	}) {
		return ends
	}
	for _, look := range []struct {
		event app.EventType
		code  Code
	}{{app.EventUnsubscribed, Unsubscribed}, {app.EventType(app.Clicked), Clicked}, {app.EventType(app.Opened), Opened}} {
		i := slices.IndexFunc(f.Events, func(ev app.Event) bool { return ev.Type == look.event })
		if i < 0 {
			continue
		}
		for k := range ends {
			ends[k].code, ends[k].params.At = look.code, stamp(f.Events[i].CreatedAt)
		}
		return ends
	}
	return ends
}

// reached reports whether a code means that the email arrived.
func reached(c Code) bool {
	switch c {
	case Delivered, Opened, Clicked, Unsubscribed, Answered, Complained:
		return true
	}
	return false
}

// eventOf returns the newest event of some kinds about a recipient, or about all recipients; the
// zero event: none.
func (f *Facts) eventOf(r *Recipient, kinds ...app.EventType) app.Event {
	return newestOf(f.Events, r, kinds)
}

func newestOf(events []app.Event, r *Recipient, kinds []app.EventType) app.Event {
	key := app.KeyOf(r.Address)
	for _, ev := range events {
		if slices.Contains(kinds, ev.Type) && (ev.Recipient == "" || app.KeyOf(ev.Recipient) == key) {
			return ev
		}
	}
	return app.Event{}
}

// server returns who answered: the relay, or for codes about the mailbox or its domain the
// recipient's domain; for reports the server that the provider talked to.
func (f *Facts) server(r *Recipient, ev *app.Event) string {
	if domain := domainOf(r.Address); domain != "" && (ev.Detail.Source != "" || ofMailbox(&ev.Detail)) {
		return domain
	}
	return f.Relay
}

// ofMailbox reports whether a code is about a mailbox or its address (RFC 3463 3.2, 3.3).
func ofMailbox(d *app.EventDetail) bool {
	subject, detail := subjectOf(d.EnhancedCode)
	return subject == "2" || subject == "1" && detail != "7" && detail != "8"
}

// subjectOf returns subject and detail of an enhanced status code (RFC 3463 2).
func subjectOf(code string) (subject, detail string) {
	_, rest, _ := strings.Cut(code, ".")
	subject, detail, _ = strings.Cut(rest, ".")
	return subject, detail
}

// suppressed returns the outcome of a skipped recipient. The reason is in the suppression list;
// otherwise it was an opt-out, or the list has changed since.
func (f *Facts) suppressed(r *Recipient) outcome {
	ev := f.eventOf(r, app.EventType(app.Suppressed))
	p := VerdictParams{At: stamp(ev.CreatedAt)}
	switch words := ev.Detail.Message; {
	case strings.HasPrefix(words, TestWords):
		return outcome{TestRecipient, VerdictParams{Outcome: string(app.Suppressed)}}
	case r.Address == app.Erased:
		return outcome{Erased, p}
	case words != "" && !strings.Contains(words, "suppression list"):
		return outcome{SuppressedOptOut, p}
	}
	switch r.Listed.Origin {
	case app.OriginBounce:
		return outcome{SuppressedBounce, p}
	case app.OriginComplaint:
		return outcome{SuppressedComplaint, p}
	case app.OriginManual:
		return outcome{SuppressedManual, p}
	case app.OriginUnsubscribe:
		return outcome{SuppressedUnsubscribe, p}
	}
	return outcome{SuppressedLifted, p}
}

func (f *Facts) canceled(r *Recipient) outcome {
	ev := f.eventOf(r, app.EventType(app.Canceled))
	p := VerdictParams{At: stamp(ev.CreatedAt), By: actor(ev.Detail.Message, "Canceled by ")}
	if f.BroadcastID != "" && p.By == "" {
		return outcome{CanceledBroadcast, p}
	}
	return outcome{Canceled, p}
}

// actor finds who did something in an event's message; empty: unknown.
func actor(words, verb string) string {
	rest, ok := strings.CutPrefix(words, verb)
	if !ok {
		return ""
	}
	who, _, _ := strings.Cut(rest, ";")
	return cut(who)
}

// failure returns the code of a failed recipient.
func (f *Facts) failure(r *Recipient, ev *app.Event, p *VerdictParams) Code {
	d := &ev.Detail
	subject, detail := subjectOf(d.EnhancedCode)
	switch {
	case d.Reason == app.ReasonExpired:
		return f.expired(r, d, p)
	case d.Reason == app.ReasonRenderLimit:
		return FailedRender
	case d.Source != "":
		return FailedProvider
	case d.Stage == app.StageCompose && d.EnhancedCode == "":
		return FailedDomainGone
	case d.Stage == app.StageCompose:
		return FailedCompose
	case subject == "3" && detail == "4", subject == "2" && detail == "3", d.ReplyCode == 552 && subject == "":
		return FailedTooLarge
	case subject == "6" && detail == "7":
		return FailedUTF8
	case subject == "7", subject == "6":
		return FailedPolicy
	case d.Stage == app.StageMail, subject == "1":
		return FailedSender
	case ev.ID == "" && ev.Type == "":
		return Unknown
	}
	return FailedOther
}

// expired sets the last answer to an email that expired and returns its code.
func (f *Facts) expired(r *Recipient, d *app.EventDetail, p *VerdictParams) Code {
	p.Attempts = d.Attempt
	last := f.eventOf(r, app.EventDeferred, app.EventInDoubt)
	if last.Type == app.EventInDoubt {
		return FailedDoubt
	}
	if p.Answer == "" {
		p.setAnswer(&last.Detail)
	}
	return FailedExpired
}
