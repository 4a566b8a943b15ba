package web

import (
	"encoding/json"
	"testing"
	"time"

	"mailer/app"
)

func TestRealUsageOfASelfHostedServer(t *testing.T) {
	r := newReal(t, captured())
	r.send(r.full, `{"from":"a@example.com","to":["b@example.org","c@example.org"],"cc":"B@example.org","subject":"s","text":"x"}`)
	_, other := r.newTeam("Other")
	for key, want := range map[string]string{r.full: `2`, other: `0`} {
		w := r.as(key, "GET", "/usage", "")
		wantStatus(t, w, 200)
		var got map[string]json.RawMessage
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		for member, value := range map[string]string{"object": `"usage"`, "cloud": "false", "plan": "null", "limits": "null", "period": "null", "app_url": `"https://mail.example.com"`} {
			if string(got[member]) != value {
				t.Errorf("%s is %s, want %s", member, got[member], value)
			}
		}
		midnight := app.FormatTime(app.DayEnd(time.Now()))
		if today := string(got["today"]); today != `{"emails_sent":`+want+`,"resets_at":"`+midnight+`"}` {
			t.Errorf("today is %s", today)
		}
	}
	wantError(t, r.as(r.key(r.team.ID, app.KeyInput{Permission: app.SendingAccess}), "GET", "/usage", ""), 403, app.CodeRestrictedAPIKey)
}
