package verdict

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"mailer/app"
)

// Answer is a received email that answers an email, or claims to.
type Answer struct {
	ReceivedID string
	Address    string // of the From; empty: unreadable
	Name       string // of its contact; empty: none
	// Proven says that Address is a recipient of the email and was authenticated.
	Proven bool
	Auto   app.AutoSubmitted
	At     time.Time
	After  time.Duration // since the email was sent; 0: unknown
}

// InPerson reports whether a recipient answered in person.
func (a *Answer) InPerson() bool { return a.Proven && a.Auto == app.AutoNone }

// Event returns the event of the answer in the timeline of the email. Its id is that of the received email.
func (a *Answer) Event(teamID, emailID string) app.Event {
	ev := app.Event{ID: a.ReceivedID, TeamID: teamID, EmailID: emailID, Type: app.EventAnswered, Recipient: a.Address, CreatedAt: a.At,
		Detail: app.EventDetail{Message: a.text(), ReceivedID: a.ReceivedID}}
	switch {
	case a.Auto != app.AutoNone:
		ev.Type = app.EventAutoAnswered
	case !a.Proven:
		ev.Type = app.EventAnswerClaimed
	}
	return ev
}

// text returns the sentence about an answer.
func (a *Answer) text() string {
	who, after := cmp.Or(a.Address, "Someone without a readable address"), ""
	if a.Proven {
		who = cmp.Or(a.Name, who)
	}
	if a.After > 0 {
		after = " after " + spanText(a.After)
	}
	switch {
	case a.Auto == app.AutoBounce:
		return "A delivery report of " + who + " arrived" + after
	case a.Auto == app.AutoReply:
		return "An automatic reply of " + who + " arrived" + after + ", like one that says out of office"
	case a.Auto != app.AutoNone:
		return "A mail that a program of " + who + " made arrived" + after
	case a.Proven:
		return who + " answered" + after
	}
	return who + " claims to answer" + after + ": it is not proven that a recipient wrote it"
}

// spanText returns a time span in words, like "12 minutes".
func spanText(d time.Duration) string {
	unit, n := "second", max(1, int(d/time.Second))
	switch {
	case d >= 48*time.Hour:
		unit, n = "day", int(d/(24*time.Hour))
	case d >= 2*time.Hour:
		unit, n = "hour", int(d/time.Hour)
	case d >= time.Minute:
		unit, n = "minute", int(d/time.Minute)
	}
	if n != 1 {
		unit += "s"
	}
	return fmt.Sprint(n, " ", unit)
}

// answered replaces the outcomes of recipients who got the email and answered in person.
func (f *Facts) answered(ends []outcome) []outcome {
	for i := range ends {
		switch ends[i].code {
		case Sent, Delivered, Opened, Clicked, DeliveryDelayed:
		default:
			continue
		}
		key := app.KeyOf(ends[i].params.Address)
		at := slices.IndexFunc(f.Answers, func(a Answer) bool { return a.InPerson() && app.KeyOf(a.Address) == key })
		if at < 0 {
			continue
		}
		a, p := &f.Answers[at], &ends[i].params
		ends[i].code = Answered
		p.Name, p.At = cmp.Or(a.Name, p.Address), stamp(a.At)
		if a.After > 0 {
			p.After = spanText(a.After)
		}
	}
	return ends
}
