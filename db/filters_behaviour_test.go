package db

import (
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"time"

	"mailer/app"
	"mailer/app/rules/filter"
)

// Broadcasts and topics of every test audience. The last of each does not exist.
var (
	testBroadcasts = []string{app.NewID(), app.NewID(), app.NewID(), app.NewID()}
	testTopics     = []string{app.NewID(), app.NewID(), app.NewID()}
)

// Indexes of testBroadcasts.
const (
	agedBroadcast  = 1 // retention deleted its first recipient
	draftBroadcast = 2
)

// randomActivity returns activity at times half a day away from whole days.
func randomActivity(r *rand.Rand) (a app.Activity) {
	ago := func() time.Time {
		if r.IntN(3) == 0 {
			return time.Time{}
		}
		return time.Now().Add(-time.Duration(24*r.IntN(6)+12) * time.Hour).Truncate(time.Millisecond).UTC()
	}
	return app.Activity{LastSentAt: ago(), LastOpenedAt: ago(), LastClickedAt: ago(), LastRepliedAt: ago()}
}

// chance returns a number below n that depends only on contact and name.
func chance(c *app.Contact, name string, n uint32) uint32 {
	return crc32.ChecksumIEEE([]byte(c.Email+name)) % n
}

// seenOf returns the bits of a contact's recipient in a broadcast.
func seenOf(c *app.Contact, broadcast int) (seen app.Seen, recipient bool) {
	if broadcast >= draftBroadcast || chance(c, "in", 3) == uint32(broadcast) {
		return 0, false
	}
	return []app.Seen{0, app.SeenSent, app.SeenSent | app.SeenOpened, app.SeenDelivered | app.SeenClicked, app.SeenSent | app.SeenBounced,
		app.SeenSent | app.SeenComplained, app.SeenSuppressed, app.SeenSent | app.SeenOpened | app.SeenReplied}[chance(c, testBroadcasts[broadcast], 8)], true
}

// choiceOf returns a contact's choice about a topic; empty: none.
func choiceOf(c *app.Contact, topic int) app.Subscription {
	return []app.Subscription{"", app.OptIn, app.OptOut}[chance(c, testTopics[topic], 3)]
}

// testDefaults are the defaults of testTopics.
var testDefaults = []app.Subscription{app.OptIn, app.OptOut}

// testFacts returns the facts about a contact for package filter.
func testFacts(c *app.Contact) filter.Facts {
	return filter.Facts{
		Now: time.Now(),
		Topic: func(id string) app.Subscription {
			at := slices.Index(testTopics, id)
			if at < 0 || at >= len(testDefaults) {
				return ""
			}
			if s := choiceOf(c, at); s != "" {
				return s
			}
			return testDefaults[at]
		},
		Broadcast: func(id string) (seen app.Seen, ok, whole bool) {
			at := slices.Index(testBroadcasts, id)
			if at < 0 || at > draftBroadcast {
				return 0, false, false
			}
			seen, _ = seenOf(c, at)
			return seen, true, at != agedBroadcast
		},
	}
}

// addBehaviour writes topics, broadcasts, choices and recipients of the contacts.
func (a *audience) addBehaviour(exec func(text string, args ...any) error) error {
	errs := []error{}
	do := func(text string, args ...any) { errs = append(errs, exec(text, args...)) }
	for i, s := range testDefaults {
		do(`INSERT INTO topics (id, team_id, name, subscription, visibility, created_at, updated_at) VALUES (?, ?, ?, ?, 'public', 0, 0)`,
			testTopics[i], a.team.ID, fmt.Sprint(i), string(s))
		for _, c := range a.contacts {
			if choice := choiceOf(&c, i); choice != "" {
				do(`INSERT INTO choices (topic_id, address, subscription, chosen_at) VALUES (?, ?, ?, 0)`, testTopics[i], c.Hash[:], string(choice))
			}
		}
	}
	for i := range draftBroadcast + 1 {
		mails := app.NewEmailIDPrefix()
		column := nullText(mails)
		written := len(a.contacts) + 1
		if i == draftBroadcast {
			column, written = nil, 0
		}
		if i == 0 {
			do(`INSERT INTO broadcast_recipients (id, contact_id, email, seen) VALUES (?, '', '', 0)`, app.BroadcastEmailID(mails, 1))
		}
		do(`INSERT INTO broadcasts (id, team_id, name, sender, subject, status, mails, audience, written, expanded, begun, open, created_at)
			VALUES (?, ?, '', '[]', '', 'draft', ?, 0, ?, 0, 0, 0, 0)`, testBroadcasts[i], a.team.ID, column, written)
		for n, c := range a.contacts {
			if seen, ok := seenOf(&c, i); ok {
				do(`INSERT INTO broadcast_recipients (id, contact_id, email, seen) VALUES (?, ?, ?, ?)`, app.BroadcastEmailID(mails, int64(n+2)), c.ID, c.Email, int64(seen))
			}
		}
	}
	return errors.Join(errs...)
}
