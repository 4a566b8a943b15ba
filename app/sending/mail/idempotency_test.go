package mail_test

import (
	"testing"

	"mailer/app"
	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
)

// sendingKey returns a sending-only key of the team.
func sendingKey(w *testserver.Server) *app.Key {
	return &app.Key{ID: app.NewID(), TeamID: w.Key.TeamID, Permission: app.SendingAccess, Role: app.RoleMember}
}

func TestIdempotencyKeysAreScopedToSendingKeys(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	send := func(key *app.Key, payload string) string {
		t.Helper()
		id, err := w.Services.Mail.SendEmail(t.Context(), key, testserver.Message("bob@example.net"), mail.SendOptions{IdempotencyKey: "order-1002", Payload: []byte(payload)})
		testserver.Must(t, err)
		return id
	}
	leaked, honest, full := sendingKey(w), sendingKey(w), w.Key
	colleague := &app.Key{ID: app.NewID(), TeamID: full.TeamID, Permission: app.FullAccess, Role: app.RoleMember}
	first := send(leaked, "spam")
	others := []string{send(honest, "order"), send(full, "order")}
	for i, id := range others {
		if id == first || i == 1 && id == others[0] {
			t.Errorf("send %d got the answer of another key's", i)
		}
	}
	if again := send(leaked, "spam"); again != first {
		t.Error("its own repeat was sent anew")
	}
	if again := send(colleague, "order"); again != others[1] {
		t.Error("keys with full access do not share the team's scope")
	}
	_, err := w.Services.Mail.SendEmail(t.Context(), colleague, testserver.Message("bob@example.net"), mail.SendOptions{IdempotencyKey: "order-1002", Payload: []byte("another")})
	testserver.WantCode(t, err, app.CodeInvalidIdempotent)
	other := w.AddTeam("Other", "other.example")
	in := testserver.Message("bob@example.net")
	in.From = "x@other.example"
	id, err := w.Services.Mail.SendEmail(t.Context(), other, in, mail.SendOptions{IdempotencyKey: "order-1002", Payload: []byte("theirs")})
	testserver.Must(t, err)
	if id == first || id == others[0] || id == others[1] {
		t.Error("another team got this team's answer")
	}
}
