package db

import (
	"errors"
	"strings"
	"testing"
	"time"

	"mailer/app"
)

func TestSubscriptionsAndOptOutsOfOtherTeam(t *testing.T) {
	d, _ := suppressionStore(t, 0)
	hash := app.AddressHash{1}
	var mine, theirs, topic string
	err := d.Write(t.Context(), func(tx *Tx) error {
		team, err := tx.FindTeam("")
		other := app.Team{ID: app.NewID(), Name: "Other", CreatedAt: tx.Now}
		mine, theirs, topic = team.ID, other.ID, app.NewID()
		return errors.Join(err, tx.InsertTeam(other),
			tx.InsertTopic(&app.Topic{ID: topic, TeamID: mine, Name: "News", Default: app.OptIn, Visibility: app.PublicTopic}),
			tx.InsertContact(&app.Contact{ID: app.NewID(), TeamID: theirs, Hash: hash, Email: "a@example.org", Unsubscribed: true}))
	})
	if err != nil {
		t.Fatal(err)
	}
	err = d.Write(t.Context(), func(tx *Tx) error {
		s, err := tx.Subscription(mine, topic, hash)
		if err != nil || s != (app.AddressSubscription{Topic: "News", Subscription: app.OptIn}) {
			t.Errorf("%+v, %v", s, err)
		}
		if _, err := tx.SetChoice(topic, hash, app.OptOut); err != nil {
			return err
		}
		s, err = tx.Subscription(mine, topic, hash)
		if err != nil || s != (app.AddressSubscription{Topic: "News", Subscription: app.OptOut, Explicit: true}) {
			t.Errorf("%+v, %v", s, err)
		}
		if _, err := tx.Subscription(theirs, topic, hash); !errors.Is(err, ErrNotFound) {
			t.Errorf("another team's topic: %v", err)
		}
		if err := tx.TopicExists(theirs, topic); !errors.Is(err, ErrNotFound) || tx.TopicExists(mine, topic) != nil {
			t.Errorf("another team's topic: %v", err)
		}
		if _, err := tx.TeamName(app.NewID()); !errors.Is(err, ErrNotFound) {
			t.Errorf("an unknown team: %v", err)
		}
		for n, team := range []string{mine, mine, theirs} {
			added, err := tx.InsertOptOut(&app.Suppression{ID: app.NewID(), TeamID: team, Hash: hash, CreatedAt: time.UnixMilli(5)})
			if err != nil || added != (n != 1) {
				t.Errorf("%d: added %v, %v", n, added, err)
			}
		}
		list, _, err := tx.ListSuppressions(mine, "", app.Page{Limit: 10})
		blocks, err2 := tx.Suppressions(mine, []app.AddressHash{hash})
		if len(list) != 0 || len(blocks) != 1 || blocks[0].Origin != app.OriginUnsubscribe {
			t.Errorf("an unknown address is listed: %+v, or does not block: %+v", list, blocks)
		}
		return errors.Join(err, err2)
	})
	if err != nil {
		t.Error(err)
	}
}

func TestShownTopicsAreSortedByName(t *testing.T) {
	d, _ := suppressionStore(t, 0)
	err := d.Write(t.Context(), func(tx *Tx) error {
		team, err := tx.FindTeam("")
		if err != nil {
			return err
		}
		ids := map[string]string{}
		for _, name := range []string{"c", "a", "d", "b"} {
			ids[name] = app.NewID()
			visibility := app.PublicTopic
			if name > "b" {
				visibility = app.PrivateTopic
			}
			if err := tx.InsertTopic(&app.Topic{ID: ids[name], TeamID: team.ID, Name: name, Default: app.OptIn, Visibility: visibility}); err != nil {
				return err
			}
		}
		for own, want := range map[string]string{"": "ab", ids["c"]: "abc", app.NewID(): "ab"} {
			topics, err := tx.ShownTopics(team.ID, own, app.AddressHash{1})
			var got strings.Builder
			for _, topic := range topics {
				got.WriteString(topic.Name)
			}
			if err != nil || got.String() != want {
				t.Errorf("shown %q, %v; want %q", got.String(), err, want)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
