package verdict

import (
	"testing"
	"time"

	"mailer/app"
)

func TestEventsOfAnswers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		answer Answer
		kind   app.EventType
		text   string
	}{
		{Answer{Address: bob, Name: "Bob", Proven: true, After: 12*time.Minute + 59*time.Second}, app.EventAnswered, "Bob answered after 12 minutes"},
		{Answer{Address: bob, Proven: true, After: time.Minute}, app.EventAnswered, "bob@example.net answered after 1 minute"},
		{Answer{Address: bob, Proven: true, After: time.Millisecond}, app.EventAnswered, "bob@example.net answered after 1 second"},
		{Answer{Address: bob, Proven: true, After: 119 * time.Minute}, app.EventAnswered, "bob@example.net answered after 119 minutes"},
		{Answer{Address: bob, Proven: true, After: 47 * time.Hour}, app.EventAnswered, "bob@example.net answered after 47 hours"},
		{Answer{Address: bob, Proven: true}, app.EventAnswered, "bob@example.net answered"},
		{Answer{Address: bob, Name: "Bob", After: 72 * time.Hour}, app.EventAnswerClaimed, "bob@example.net claims to answer after 3 days: it is not proven that a recipient wrote it"},
		{Answer{}, app.EventAnswerClaimed, "Someone without a readable address claims to answer: it is not proven that a recipient wrote it"},
		{Answer{Address: bob, Name: "Bob", Proven: true, Auto: app.AutoReply, After: 5 * time.Second}, app.EventAutoAnswered, "An automatic reply of Bob arrived after 5 seconds, like one that says out of office"},
		{Answer{Address: bob, Name: "Bob", Auto: app.AutoReply}, app.EventAutoAnswered, "An automatic reply of bob@example.net arrived, like one that says out of office"},
		{Answer{Address: bob, Auto: app.AutoBounce}, app.EventAutoAnswered, "A delivery report of bob@example.net arrived"},
		{Answer{Address: bob, Auto: app.AutoBulk}, app.EventAutoAnswered, "A mail that a program of bob@example.net made arrived"},
	} {
		tt.answer.ReceivedID, tt.answer.At = "r", noon
		ev := tt.answer.Event("t", "e")
		if ev.Type != tt.kind || ev.Detail.Message != tt.text || ev.ID != "r" || ev.Detail.ReceivedID != "r" || ev.Recipient != tt.answer.Address || !ev.CreatedAt.Equal(noon) {
			t.Errorf("%s: %+v", tt.text, ev)
		}
	}
}
