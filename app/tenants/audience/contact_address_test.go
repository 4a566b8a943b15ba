package audience_test

import (
	"testing"

	"mailer/app"
	"mailer/app/testing/testserver"
	"mailer/db"
)

const before, after = "ann@example.org", "ann@example.net"

func (a *contactTest) suppress(address string, origin app.SuppressionOrigin) {
	a.T.Helper()
	_, err := a.Services.Suppressions.AddSuppression(a.T.Context(), a.Key, app.SuppressionInput{Email: address, Origin: origin})
	testserver.Must(a.T, err)
}

// blocked returns why an address gets no mail of a topic; empty: it does.
func (a *contactTest) blocked(topicID, address string) (reason string) {
	a.T.Helper()
	a.Read(func(r *db.Reader) error {
		b, err := a.Services.Audience.BlockedRecipients(r, a.Key.TeamID, topicID, []string{address})
		reason = b.Reason(address)
		return err
	})
	return reason
}

func TestAddressChangeKeepsOptOutsOfBothAddresses(t *testing.T) {
	testserver.BothEngines(t)
	for name, prepare := range map[string]func(a *contactTest){
		"bounce":       func(a *contactTest) { a.suppress(before, app.OriginBounce) },
		"manual":       func(a *contactTest) { a.suppress(before, app.OriginManual) },
		"unsubscribed": func(a *contactTest) { a.patch(before, app.ContactPatch{Unsubscribed: new(true)}) },
		"weaker there": func(a *contactTest) {
			a.suppress(before, app.OriginComplaint)
			a.suppress(after, app.OriginUnsubscribe)
		},
		"topic": func(a *contactTest) {
			_, _, err := a.Services.Audience.SetContactTopics(a.T.Context(), a.Key, before, []app.TopicChoice{{ID: a.topics[0], Subscription: app.OptOut}})
			testserver.Must(a.T, err)
		},
		"afterwards":       func(*contactTest) {},
		"topic afterwards": func(*contactTest) {},
	} {
		t.Run(name, func(t *testing.T) {
			a := newContactTest(t)
			other := a.AddTeam("other", "other.example")
			a.create(app.ContactInput{Email: before})
			prepare(a)
			a.patch(before, app.ContactPatch{Email: after})
			if name == "afterwards" {
				a.patch(after, app.ContactPatch{Unsubscribed: new(true)})
			}
			if name == "topic afterwards" {
				_, _, err := a.Services.Audience.SetContactTopics(t.Context(), a.Key, after, []app.TopicChoice{{ID: a.topics[0], Subscription: app.OptOut}})
				testserver.Must(t, err)
			}
			for _, address := range []string{before, after} {
				if a.blocked(a.topics[0], address) == "" {
					t.Errorf("mail goes to %s", address)
				}
			}
			if (name == "bounce" || name == "manual" || name == "weaker there") && a.blocked("", after) == "" {
				t.Error("mail without a topic goes to the new address")
			}
			if _, err := a.Services.Audience.GetContact(t.Context(), other, after); app.CodeOf(err) != app.CodeNotFound {
				t.Errorf("another team: %v", err)
			}
			// Changing the address back does not resubscribe it to topics of the new address.
			a.patch(after, app.ContactPatch{Email: before})
			if a.blocked(a.topics[0], before) == "" || a.blocked(a.topics[0], after) == "" {
				t.Error("a move back opened it")
			}
		})
	}
}

func TestAddressChangeDoesntResubscribe(t *testing.T) {
	a := newContactTest(t)
	a.suppress(after, app.OriginUnsubscribe)
	a.create(app.ContactInput{Email: before})
	_, err := a.Services.Audience.UpdateContact(t.Context(), a.Key, before, app.ContactPatch{Email: after, Unsubscribed: new(false)})
	testserver.WantCode(t, err, app.CodeValidation)
	a.patch(before, app.ContactPatch{Email: after})
	if !a.contact(after).Unsubscribed {
		t.Error("who opted out is subscribed under a new contact")
	}
	a.patch(after, app.ContactPatch{Unsubscribed: new(false)})
	if a.contact(after).Unsubscribed || a.blocked(a.topics[0], after) != "" {
		t.Error("nothing subscribes again")
	}
}

func TestOldLinkOptsOutAfterAddressChange(t *testing.T) {
	a := newContactTest(t)
	a.create(app.ContactInput{Email: before})
	a.create(app.ContactInput{Email: "bob@example.org"})
	link := app.PageLink{TeamID: a.Key.TeamID, Address: a.AddressHash(before)}
	all := a.PageToken(app.UnsubscribePage, link)
	link.TopicID = a.topics[0]
	one := a.PageToken(app.UnsubscribePage, link)
	a.patch(before, app.ContactPatch{Email: after})
	_, err := a.Services.Pages.Unsubscribe(t.Context(), one)
	testserver.Must(t, err)
	if a.blocked(a.topics[0], after) == "" || a.contact(after).Unsubscribed {
		t.Error("the topic's mail goes to the new address, or none at all")
	}
	_, err = a.Services.Pages.Unsubscribe(t.Context(), all)
	testserver.Must(t, err)
	if !a.contact(after).Unsubscribed || a.contact("bob@example.org").Unsubscribed {
		t.Error("the link did not reach the contact, or reached another")
	}
	// Once another contact has the address, links to it apply to that contact alone.
	a.patch(after, app.ContactPatch{Unsubscribed: new(false)})
	a.patch("bob@example.org", app.ContactPatch{Email: before})
	_, err = a.Services.Pages.Unsubscribe(t.Context(), all)
	testserver.Must(t, err)
	if a.contact(after).Unsubscribed || !a.contact(before).Unsubscribed {
		t.Error("a link of somebody's address opted out another")
	}
}

func TestErasedFormerAddressIsGone(t *testing.T) {
	a := newContactTest(t)
	a.create(app.ContactInput{Email: before})
	a.patch(before, app.ContactPatch{Email: after})
	if a.Rows(`SELECT email FROM former_addresses`) != before+"\n" {
		t.Fatal("the former address is not noted")
	}
	_, err := a.Services.Audience.DeleteContact(t.Context(), a.Key, before, true)
	testserver.Must(t, err)
	if got := a.Rows(`SELECT email FROM former_addresses`); got != "" {
		t.Errorf("left %q", got)
	}
}
