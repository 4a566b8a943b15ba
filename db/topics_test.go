package db

import (
	"errors"
	"fmt"
	"testing"

	"mailer/app"
)

// addTopics adds n topics named T0 and so on, with the default opt_in.
func addTopics(t *testing.T, d *DB, teamID string, n int) (topics []app.Topic) {
	t.Helper()
	err := d.Write(t.Context(), func(tx *Tx) error {
		topics = nil
		for i := range n {
			topic := app.Topic{ID: app.NewID(), TeamID: teamID, Name: fmt.Sprint("T", i), Default: app.OptIn, Visibility: app.PublicTopic,
				CreatedAt: fromMilli(milli(tx.Now)), UpdatedAt: fromMilli(milli(tx.Now))}
			if err := tx.InsertTopic(&topic); err != nil {
				return err
			}
			topics = append(topics, topic)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return topics
}

// writeOK runs fn in a Write that must succeed.
func writeOK(t *testing.T, d *DB, fn func(tx *Tx) error) {
	t.Helper()
	if err := d.Write(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

func TestTopicRoundTrip(t *testing.T) {
	d, team := suppressionStore(t, 0)
	topic := addTopics(t, d, team.ID, 1)[0]
	writeOK(t, d, func(tx *Tx) error {
		if got, err := tx.Topic(team.ID, topic.ID); err != nil || got != topic {
			t.Errorf("read %+v, %v; wrote %+v", got, err, topic)
		}
		topic.Name, topic.Description, topic.Visibility = "x", "d", app.PrivateTopic
		if err := tx.UpdateTopic(&topic); err != nil {
			return err
		}
		if got, err := tx.Topic(team.ID, topic.ID); err != nil || got != topic {
			t.Errorf("read %+v, %v; wrote %+v", got, err, topic)
		}
		return nil
	})
}

func TestTopicOfOtherTeamIsNotFound(t *testing.T) {
	d, team := suppressionStore(t, 0)
	topic := addTopics(t, d, team.ID, 1)[0]
	writeOK(t, d, func(tx *Tx) error {
		foreign := topic
		foreign.TeamID = app.NewID()
		_, err := tx.Topic(foreign.TeamID, topic.ID)
		_, err2 := tx.TopicFor(foreign.TeamID, topic.ID, hashOf("a"))
		_, _, err3 := tx.ListTopics(foreign.TeamID, app.Page{Limit: 1, After: topic.ID})
		_, _, err4 := tx.ListTopicsFor(foreign.TeamID, hashOf("a"), app.Page{Limit: 1, Before: topic.ID})
		for i, err := range []error{err, err2, err3, err4, tx.UpdateTopic(&foreign), tx.DeleteTopic(foreign.TeamID, topic.ID)} {
			if !errors.Is(err, ErrNotFound) {
				t.Errorf("%d: %v", i, err)
			}
		}
		_, err = tx.Topic(team.ID, topic.ID)
		return err
	})
}

func TestTopicNameIsUniqueInTeam(t *testing.T) {
	d, team := suppressionStore(t, 0)
	topics := addTopics(t, d, team.ID, 2)
	writeOK(t, d, func(tx *Tx) error {
		again := topics[0]
		again.ID = app.NewID()
		if err := tx.InsertTopic(&again); !errors.Is(err, ErrConflict) {
			t.Errorf("inserted: %v", err)
		}
		renamed := topics[1]
		renamed.Name = topics[0].Name
		if err := tx.UpdateTopic(&renamed); !errors.Is(err, ErrConflict) {
			t.Errorf("renamed: %v", err)
		}
		return tx.UpdateTopic(&topics[0]) // its own name
	})
}

func TestSetChoiceReportsChanges(t *testing.T) {
	d, team := suppressionStore(t, 0)
	topic := addTopics(t, d, team.ID, 1)[0]
	ann, bob := hashOf("ann"), hashOf("bob")
	want := func(tx *Tx, address app.AddressHash, subscription app.Subscription, explicit bool) {
		t.Helper()
		one, err := tx.TopicFor(team.ID, topic.ID, address)
		if err != nil || one.Subscription != subscription || one.Explicit != explicit || one.Topic != topic {
			t.Errorf("one: %+v, %v", one, err)
		}
		list, more, err := tx.ListTopicsFor(team.ID, address, app.Page{Limit: 1})
		if err != nil || more || len(list) != 1 || list[0] != one {
			t.Errorf("list: %+v, %v", list, err)
		}
	}
	writeOK(t, d, func(tx *Tx) error {
		for _, c := range []struct {
			choice  app.Subscription
			changed bool
		}{{app.OptIn, true}, {app.OptIn, false}, {app.OptOut, true}, {app.OptOut, false}, {app.OptIn, true}} {
			changed, err := tx.SetChoice(topic.ID, ann, c.choice)
			if err != nil || changed != c.changed {
				t.Errorf("%+v: changed %v, %v", c, changed, err)
			}
			want(tx, ann, c.choice, true)
			want(tx, bob, app.OptIn, false)
		}
		return nil
	})
}

func TestPurgeChoicesOfDeletedTopicInSteps(t *testing.T) {
	d, team := suppressionStore(t, 0)
	topics := addTopics(t, d, team.ID, 2)
	writeOK(t, d, func(tx *Tx) error {
		for i := range 5 {
			for _, topic := range topics {
				if _, err := tx.SetChoice(topic.ID, hashOf(fmt.Sprint(i)), app.OptOut); err != nil {
					return err
				}
			}
		}
		return tx.DeleteTopic(team.ID, topics[0].ID)
	})
	count := func(tx *Tx, id string) (n int) {
		if err := tx.Row("SELECT count(*) FROM choices WHERE topic_id = ?", []any{id}, &n); err != nil {
			t.Error(err)
		}
		return n
	}
	writeOK(t, d, func(tx *Tx) error {
		for left := 5; ; left -= 2 {
			if n := count(tx, topics[0].ID); n != max(left, 0) {
				t.Errorf("%d choices left, want %d", n, left)
			}
			more, err := tx.PurgeLeftovers(2)
			if err != nil || !more {
				return err
			}
			if left < -10 {
				return errors.New("it never ends")
			}
		}
	})
	writeOK(t, d, func(tx *Tx) error {
		if n := count(tx, topics[1].ID); n != 5 || count(tx, topics[0].ID) != 0 {
			t.Errorf("%d choices of the other topic", n)
		}
		return nil
	})
}
