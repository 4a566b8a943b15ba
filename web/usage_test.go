package web

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/rules/plan"
)

func TestUsageSelfHosted(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
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
		midnight := app.FormatTime(plan.DayEnd(time.Now()))
		if today := string(got["today"]); today != `{"emails_sent":`+want+`,"resets_at":"`+midnight+`"}` {
			t.Errorf("today is %s", today)
		}
	}
	wantError(t, r.as(r.key(r.team.ID, app.KeyInput{Permission: app.SendingAccess}), "GET", "/usage", ""), 403, app.CodeRestrictedAPIKey)
}

func TestUsageCloudQuotas(t *testing.T) {
	t.Parallel()
	cfg := relayed()
	cfg.Cloud = true
	r := newTestAPI(t, cfg)
	r.domain(r.team.ID, "example.com", true)
	usage := func() (u usageRecord) {
		t.Helper()
		w := r.as(r.full, "GET", "/usage", "")
		wantStatus(t, w, 200)
		if err := json.Unmarshal(w.Body.Bytes(), &u); err != nil {
			t.Fatal(err)
		}
		return u
	}
	u := usage()
	if !u.Cloud || *u.Plan != "free" || *u.Limits != (usageLimits{EmailsPerDay: 100, Domains: 3, Contacts: 1000, AutomationRuns: 1000}) || u.Period != nil {
		t.Errorf("a fresh team has %+v", u)
	}
	batch := "[" + strings.Repeat(validSend+",", 99) + validSend + "]"
	for range 4 {
		wantStatus(t, r.as(r.full, "POST", "/emails/batch", batch), 200)
	}
	if got := usage().Today.EmailsSent; got != 100 {
		t.Errorf("%d counted today", got)
	}
	w := r.as(r.full, "POST", "/emails", validSend)
	wantError(t, w, 429, app.CodeDailyQuotaExceeded)
	wait, err := strconv.Atoi(w.Header().Get("Retry-After"))
	if left := time.Until(plan.DayEnd(time.Now())); err != nil || wait < int(left.Seconds()) || wait > int(left.Seconds())+5 {
		t.Errorf("retry-after is %q with %s left of the day", w.Header().Get("Retry-After"), left)
	}

	if _, err := r.server.Teams.SetPlan(t.Context(), r.team.ID, plan.Input{Name: plan.Scale, Included: 500, Overage: true}); err != nil {
		t.Fatal(err)
	}
	r.eventually(r.full, "/usage", `"emails_sent":400`) // the backlog left
	u = usage()
	start := plan.DayStart(time.Now())
	p := *u.Period
	if p.StartsAt != app.FormatTime(start) || p.EmailsSent != 400 || p.Included != 500 || !p.OverageEnabled || p.OverageUSDPer1k != 0.2 {
		t.Errorf("the period is %+v", p)
	}
	if *u.Plan != "scale" || *u.Limits != (usageLimits{EmailsPerMonth: 500, AutomationRuns: app.MaxOpenRuns}) {
		t.Errorf("on scale: %+v", u)
	}
	if _, err := r.server.Teams.SetPlan(t.Context(), r.team.ID, plan.Input{Name: plan.Pro, Included: 400}); err != nil {
		t.Fatal(err)
	}
	w = r.as(r.full, "POST", "/emails", validSend)
	wantError(t, w, 429, app.CodeMonthlyQuotaExceeded, p.EndsAt[:10])
}

func TestUsagePlanLimits(t *testing.T) {
	t.Parallel()
	cfg := captured()
	cfg.Cloud = true
	r := newTestAPI(t, cfg)
	for i, name := range []string{"a.test", "b.test", "c.test", "d.test"} {
		w := r.as(r.full, "POST", "/domains", `{"name":"`+name+`"}`)
		if i < 3 {
			wantStatus(t, w, 201)
			continue
		}
		wantError(t, w, 403, app.CodePlanLimitReached, "3 domains")
	}
	var items []string
	for i := range 999 {
		items = append(items, `{"email":"p`+strconv.Itoa(i)+`@example.org"}`)
	}
	wantStatus(t, r.as(r.full, "POST", "/contacts/batch", "["+strings.Join(items, ",")+"]"), 201)
	answer := r.imported(csvFile("email,first_name", "p0@example.org,New", "last@example.org,A", "over@example.org,B"), field{"on_conflict", "upsert"})
	if answer.Status != "completed" || answer.counts() != "3=1+1+0+1" || !strings.Contains(answer.errors(), "4: The plan") {
		t.Errorf("the import ended %s, %s: %s", answer.Status, answer.counts(), answer.errors())
	}
	wantError(t, r.as(r.full, "POST", "/contacts", `{"email":"more@example.org"}`), 403, app.CodePlanLimitReached)
	wantError(t, r.as(r.full, "POST", "/contacts/batch", `[{"email":"p1@example.org"},{"email":"more@example.org"}]`), 409, app.CodeConflict, "contacts.0: ")
	wantError(t, r.as(r.full, "POST", "/contacts/batch?on_conflict=upsert", `[{"email":"p1@example.org"},{"email":"more@example.org"}]`), 403, app.CodePlanLimitReached, "contacts.1: ")
	file := `{"filename":"a.bin","content":"` + base64.StdEncoding.EncodeToString(make([]byte, 1<<20+1)) + `"}`
	wantError(t, r.as(r.full, "POST", "/emails", member(`"attachments":[`+file+`]`)), 413, app.CodePayloadTooLarge, "plan free")
}
