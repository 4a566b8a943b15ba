package contactfile

import (
	"strings"
	"testing"
)

// readColumn returns the meaning of a cell in a file with one column besides the address: "mail",
// "out", "bounced", "complained", "blocked", or "held" for a refused row.
func readColumn(t *testing.T, heading, cell string) string {
	t.Helper()
	var in Input
	plan, _, err := in.Plan([]string{"email", heading}, nil)
	if err != nil {
		t.Fatalf("%q: %v", heading, err)
	}
	p := plan.Contact(Row{Line: 2, Cells: []string{"a@example.org", cell}})
	switch {
	case p.Problem != "" && !p.OptsOut():
		if !strings.Contains(p.Problem, columnName(heading, 1)) {
			t.Errorf("%q: %q does not name the column", heading, p.Problem)
		}
		return "held"
	case p.Origin == "bounce":
		return "bounced"
	case p.Origin == "complaint":
		return "complained"
	case p.Origin == "unsubscribe":
		return "blocked"
	case p.OptsOut():
		return "out"
	}
	return "mail"
}

// TestConsentColumns has headings and cells of services and of hand-made sheets. "=" separates a
// cell from its meaning, "|" two cells.
func TestConsentColumns(t *testing.T) {
	for headings, cells := range map[string]string{
		// True for contacts who get mail.
		"subscribed|Subscribed|SUBSCRIBED|is_subscribed|is-subscribed|isSubscribed|Subscribed?|\ufeffsubscribed|subscribed_to_emails|Subscribed to newsletter":                                                                                                                                              "true=mail|TRUE=mail|yes=mail|Y=mail|1=mail|t=mail|on=mail|✓=mail|ja=mail|oui=mail|sí=mail|はい=mail|是=mail|false=out|No=out|0=out|f=out|off=out|nein=out|non=out|não=out|nee=out|nie=out|いいえ=out|否=out|✗=out|none=out|never=out|2025-05-01=mail|=held|maybe=held|unsubscribed=out|subscribed=mail",
		"Accepts Marketing|accepts_marketing|acceptsMarketing|Accepts Email Marketing|email_marketing_consent|Email Marketing Consent|opt_in|opt-in|Opt In|optin|opted_in|consent|Consent given|permission|marketing_allowed|ok_to_email|can_email|GDPR consent|wants_newsletter|not_unsubscribed":          "yes=mail|no=out|=held|?!=held|SUBSCRIBED=mail|NOT_SUBSCRIBED=out|NEVER_SUBSCRIBED=out|UNSUBSCRIBED=out|Never subscribed=out|Does not accept marketing=out|pending=out|Unconfirmed=out|opted-in=mail|opted-out=out|\"false\"=out|granted=mail|Revoked=out|{\"state\":\"not_subscribed\"}=out|{\"state\":\"subscribed\",\"opt_in_level\":null}=mail",
		"Einwilligung|Newsletter-Einwilligung|Werbeerlaubnis|abonniert|Zugestimmt|abonné|Consentement|Inscrit à la newsletter|suscrito|Consentimiento|iscritto|Consenso|Consenso marketing|inscrito|Consentimento|Aceita e-mail|ingeschreven|Toestemming|Zgoda marketingowa|zapisany|購読|同意|メール配信許可|订阅|同意接收": "ja=mail|sim=mail|tak=mail|是=mail|nein=out|nej=held|não=out|nie=out|いいえ=out|false=out|=held",
		// True for contacts who get none.
		"unsubscribed|Unsubscribed|unsubscribe|Opted Out|opted-out|opted_out|optOut|Opt Out|email_opt_out|Email Opt Out|HasOptedOutOfEmail|hasOptedOutOfEmail|do_not_email|Do Not Email|DO NOT MAIL|doNotContact|dont_email|Don't email|do not contact|no_newsletter|No marketing|no_email|not_subscribed|Not subscribed|non-subscribed|blacklisted|blocklist|email_disabled|Disabled|is_deleted|inactive": "yes=out|TRUE=out|1=out|on=out|x=out|X=out|✓=out|ja=out|はい=out|2025-05-01 10:00:00=out|2025-05-01T10:00:00Z=out|05/01/2025=out|1.5.2025=out|no=mail|false=mail|0=mail|off=mail|=mail|✗=mail|nein=mail|never=mail|-=mail|unsubscribed=out|subscribed=mail|hmm=held",
		"abgemeldet|Abgemeldet|Werbesperre|Widerspruch|keine Werbung|Kein Newsletter|désabonné|désinscrit|Liste noire|Ne pas contacter|Refus newsletter désabonné|de baja desuscrito|No contactar|dado de baja|disiscritto|Non contattare|descadastrado|Não enviar e-mail|afgemeld|uitgeschreven|geen nieuwsbrief|Niet mailen|wypisany|rezygnacja|Nie wysyłać e-mail|配信停止|購読解除|退会|退订|取消订阅|黑名单":             "ja=out|oui=out|sí=out|sim=out|tak=out|true=out|2025-05-01=out|nein=mail|non=mail|não=mail|false=mail|=mail",
		// Reasons and times.
		"unsubscribed_at|Unsubscribed At|unsubscribedAt|Unsubscribe date|UNSUB_TIME|unsubscribe reason|Opt-out reason|opted_out_on|Opt out date|Abmeldedatum abgemeldet am|date de désinscription|Email Suppressions|Suppressed|suppression_reason|Stop Time|Email blacklisted": "✓=out|2025-05-01 10:00:00=out|1746093600=out|01/05/25=out|too many mails=out|USER_SUPPRESSED=out|=mail|null=mail|no=mail|0=mail|[]=mail",
		"subscribed_at|Subscribed At|opt_in_date|Opt-in date|consent_timestamp|Consent Timestamp|Confirmed opt-in at|opted_in_at|Date d'inscription":                                                                                                                            "2024-01-01=mail|2024-01-01T00:00:00.000Z=mail|=mail|no=out|unsubscribed=out",
		"bounced|hard_bounced_at|Bounce|is_bounced|Hard bounce reason|Unzustellbar": "true=bounced|2025-05-01=bounced|550 no such user=bounced|false=mail|=mail|0=mail",
		"complained|Complaint|spam_complaint|marked_as_spam|complained_at":          "yes=complained|2025-05-01=complained|no=mail|=mail",
		// Statuses.
		"email_status|Email Status|Subscription Status|subscription_state|Subscriber status|subscriber_state|Consent status|Email Subscriber Status|Marketing status|Newsletter-Status|Statut de l'abonné email|opt-in status|Email permission status": "subscribed=mail|Active=mail|unsubscribed=out|Unsubscribed=out|opted-out=out|inactive=out|pending=out|Awaiting confirmation=out|unconfirmed=out|Never subscribed=out|Not subscribed=out|No consent=out|No permission set=out|non-subscriber=out|cancelled=out|archived=out|cleaned=bounced|Bounced=bounced|Hard bounced=bounced|complained=complained|Marked as spam=complained|blocked=blocked|blacklisted=blocked|suppressed=blocked|2=held|wibble=held|=held|yes=mail|no=out|double opt-in=mail|Express consent=mail|Soft bounced=held",
		"status|Status|State|state|estado|Stato|statut|stan|ステータス|状态|type":                                 "Active=mail|subscribed=mail|Unsubscribed=out|inactive=out|Unconfirmed=out|Bounced=bounced|Deleted=out|complained=complained|abgemeldet=out|désabonné=out|desuscrito=out|disiscritto=out|descadastrado=out|uitgeschreven=out|wypisany=out|配信停止=out|退订=out|已退订=out|inaktiv=out|未確認=out|待确认=out|2=held|VIP=mail|California=mail|Baja California=mail|=mail|customer=mail",
		"newsletter|Newsletter|subscription|marketing|active|is_active|confirmed|メルマガ|nieuwsbrief|boletín": "yes=mail|true=mail|no=out|false=out|0=out|Weekly=mail|=mail|unsubscribed=out|pending=out|cancelled=out",
		// About something else.
		"sms_consent|Accepts SMS Marketing|SMS Marketing Consent|opt_in_ip|subscriber_id|unsubscribe_url|Unsubscribe link|subscription_plan|newsletter_name|WhatsApp opt-in|consent_to_track|Permission to track|subscribed lists|company|notes|first_name_initial|city|postal_code|order status|bounce_rate|soft_bounces": "no=mail|yes=mail|false=mail|=mail|whatever=mail",
	} {
		for heading := range strings.SplitSeq(headings, "|") {
			for cell := range strings.SplitSeq(cells, "|") {
				at := strings.LastIndexByte(cell, '=')
				if got := readColumn(t, heading, cell[:at]); got != cell[at+1:] {
					t.Errorf("%q of %q (%s) is %s, want %s", cell[:at], heading, consentRoleOf(heading), got, cell[at+1:])
				}
			}
		}
	}
}

// TestRefusalWinsOverOtherColumns has rows with contradictory columns.
func TestRefusalWinsOverOtherColumns(t *testing.T) {
	for _, c := range []struct{ headings, cells, want string }{
		{"subscribed,unsubscribed", "true,true", "out"},
		{"unsubscribed,subscribed", "false,false", "out"},
		{"status,unsubscribed_at", "active,2025-01-01", "out"},
		{"accepts_marketing,do_not_email", "yes,yes", "out"},
		{"accepts_marketing,do_not_email", "no,no", "out"},
		{"accepts_marketing,unsubscribed", "hm,yes", "out"}, // and it is reported
		{"status,bounced,complained", "active,true,true", "complained"},
		{"subscribed,email_status", "true,unsubscribed", "out"},
		{"subscribed,unsubscribed", "true,false", "mail"},
		{"active_subscription,email_disabled", "false,false", "mail"}, // Substack's first column is about payment
		{"active_subscription,email_disabled", "true,true", "out"},
	} {
		var in Input
		plan, _, err := in.Plan(strings.Split("email,"+c.headings, ","), nil)
		if err != nil {
			t.Fatal(err)
		}
		p := plan.Contact(Row{Line: 2, Cells: strings.Split("a@example.org,"+c.cells, ",")})
		got := "mail"
		switch {
		case p.Origin == "complaint":
			got = "complained"
		case p.OptsOut():
			got = "out"
		}
		if got != c.want {
			t.Errorf("%s %s: %s, want %s (%q)", c.headings, c.cells, got, c.want, p.Problem)
		}
		if len(plan.Consents()) < 1 {
			t.Errorf("%s: no column is named that decides who gets mail", c.headings)
		}
	}
}

// TestUnmappedConsentCounts: users who map columns may not know that contacts opted out.
func TestUnmappedConsentCounts(t *testing.T) {
	for _, m := range []*ColumnMap{{Email: "email"}, {Email: "email", Properties: map[string]PropertyColumn{"s": {Column: "subscribed"}}}, {Email: "email", Unsubscribed: "left"}} {
		in := Input{Columns: m}
		plan, _, err := in.Plan([]string{"email", "subscribed", "left"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if p := plan.Contact(Row{Line: 2, Cells: []string{"a@example.org", "false", "no"}}); !p.OptsOut() {
			t.Errorf("%+v: %+v", m, p)
		}
		if !plan.MayOptOut() {
			t.Errorf("%+v: opt-outs do not come first", m)
		}
	}
}
