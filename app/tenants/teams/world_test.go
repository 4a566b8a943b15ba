package teams_test

import (
	"fmt"
	"strings"

	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
)

// What only the tests of this package do with a world.

// wantToday checks what GET /usage says of the day.
func wantToday(w *testserver.World, want int64) {
	w.T.Helper()
	if got := w.Usage().Today; got != want {
		w.T.Errorf("%d recipients counted today, want %d", got, want)
	}
}

// sendTo sends one email to each of persons [from, to) and returns the ids.
func sendTo(w *testserver.World, from, to int) (ids []string) {
	w.T.Helper()
	for i := from; i < to; i++ {
		ids = append(ids, w.Send(testserver.Person(i)))
	}
	return ids
}

// trySend returns the error of a send to n addresses.
func trySend(w *testserver.World, n int) error {
	w.T.Helper()
	var to []string
	for i := range n {
		to = append(to, fmt.Sprintf("t%d@example.net", i))
	}
	_, err := w.Server.Mail.SendEmail(w.T.Context(), w.Key, testserver.Letter(to...), mail.SendOptions{})
	return err
}

// quotaTold returns what webhooks were told of quotas.
func quotaTold(w *testserver.World) []string {
	w.T.Helper()
	told := []string{}
	for _, one := range w.Heard(w.Key.TeamID) {
		if strings.HasPrefix(string(one.Type), "quota") {
			told = append(told, fmt.Sprintf("%s %v %v/%v %v", one.Type, one.Data["period"], one.Data["emails_sent"], one.Data["limit"], one.Data["resets_at"]))
		}
	}
	return told
}
