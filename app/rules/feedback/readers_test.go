package feedback

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"mailer/app"
)

const sesMail = `"mail":{"timestamp":"2026-05-01T10:00:00.123Z","source":"a@example.com","messageId":"0100019f-aaaa-bbbb-000000","destination":["Bob@example.net","eve@example.net"],
	"headersTruncated":false,"headers":[{"name":"From","value":"a@example.com"},{"name":"x-mailer-email-id","value":"0198c0de-0000-7000-8000-000000000001"},
	{"name":"Message-ID","value":"<0198c0de-0000-7000-8000-000000000001@example.com>"}],"commonHeaders":{"messageId":"<0100019f-aaaa-bbbb-000000@email.amazonses.com>"},"tags":{"ses:caller-identity":["x"]}}`

// readReports returns the reports of Read.
func readReports(source string, body []byte) ([]Report, error) {
	out, err := Read(source, body)
	return out.Reports, err
}

// brief formats a report on one line.
func brief(f Report) string {
	return strings.Join(strings.Fields(fmt.Sprint(f.Kind, " ", f.Recipient, " ", f.Bounce, " ", f.SubType, " ", f.Enhanced)), " ")
}

func briefs(reports []Report) string {
	var out []string
	for _, f := range reports {
		out = append(out, brief(f))
	}
	return strings.Join(out, "; ")
}

func TestReadSES(t *testing.T) {
	for body, want := range map[string]string{
		`{"eventType":"Bounce","bounce":{"feedbackId":"f","bounceType":"Permanent","bounceSubType":"General","bouncedRecipients":[{"emailAddress":"Bob@example.net","action":"failed","status":"5.1.1","diagnosticCode":"smtp; 550 5.1.1 user unknown"},{"emailAddress":"eve@example.net","status":"5.0.0","diagnosticCode":"smtp; 550 5.7.1 no"}],"timestamp":"2026-05-01T10:01:00Z"},`: "bounced Bob@example.net Permanent General 5.1.1; bounced eve@example.net Permanent General 5.7.1",
		`{"notificationType":"Bounce","bounce":{"bounceType":"Transient","bounceSubType":"MailboxFull","bouncedRecipients":[{"emailAddress":"bob@example.net"}]},`:                                                                                                                                                                                                                       "bounced bob@example.net Transient MailboxFull",
		`{"eventType":"Bounce","bounce":{"bounceType":"Strange","bouncedRecipients":[]},`:                                                                                               "bounced Undetermined",
		`{"notificationType":"Complaint","complaint":{"complainedRecipients":[{"emailAddress":"bob@example.net"}],"complaintFeedbackType":"abuse","timestamp":"2026-05-01T10:01:00Z"},`: "complained bob@example.net",
		`{"eventType":"Complaint","complaint":{"complainedRecipients":[{"emailAddress":"bob@example.net"}],"complaintFeedbackType":"not-spam"},`:                                        "",
		`{"eventType":"Delivery","delivery":{"recipients":["bob@example.net"],"smtpResponse":"250 2.0.0 ok"},`:                                                                          "delivered bob@example.net",
		`{"eventType":"DeliveryDelay","deliveryDelay":{"delayType":"TransientCommunicationFailure","delayedRecipients":[{"emailAddress":"bob@example.net","status":"4.4.1"}]},`:         "delayed bob@example.net TransientCommunicationFailure 4.4.1",
		`{"eventType":"Send","send":{},`:                                                                                                                           "sent Bob@example.net; sent eve@example.net",
		`{"eventType":"Reject","reject":{"reason":"Bad content"},`:                                                                                                 "failed",
		`{"eventType":"Rendering Failure","failure":{"errorMessage":"x","templateName":"t"},`:                                                                      "failed",
		`{"eventType":"Open","open":{"ipAddress":"192.0.2.1","timestamp":"2026-05-01T10:01:00Z","userAgent":"Mozilla"},`:                                           "opened",
		`{"eventType":"Click","click":{"ipAddress":"192.0.2.1","link":"https://example.com/","linkTags":null,"timestamp":"2026-05-01T10:01:00Z","userAgent":"M"},`: "clicked",
		`{"eventType":"Subscription",`: "",
		`{"somethingElse":1,`:          "",
	} {
		reports, err := ReadSES("sns-1", []byte(body+sesMail+"}"))
		if err != nil || briefs(reports) != want {
			t.Errorf("%s\n%q, %v, want %q", body, briefs(reports), err, want)
		}
		ids := map[string]bool{}
		for _, f := range reports {
			ids[f.ID] = true
			if f.EmailID != "0198c0de-0000-7000-8000-000000000001" || f.MessageID != f.EmailID+"@example.com" || f.ProviderID != "0100019f-aaaa-bbbb-000000" ||
				f.Source != "ses" || !f.AcceptedBy.Equal(time.Date(2026, 5, 1, 10, 0, 0, 123e6, time.UTC)) || !strings.Contains(f.ID, "sns-1") {
				t.Errorf("%s: %+v", body, f)
			}
		}
		if len(ids) != len(reports) {
			t.Errorf("%s: two recipients have one id", body)
		}
	}
	for _, body := range []string{"", "Successfully validated SNS topic for Amazon SES event publishing.", "[]", `{"eventType":"Send","eventType":"Bounce"}`, "{\"eventType\":\"\xff\"}"} {
		if _, err := ReadSES("x", []byte(body)); err == nil {
			t.Errorf("%q is read", body)
		}
	}
}

// TestSeveralEmailIDHeadersAreIgnored: somebody on the way may have added a second header, so none
// of them proves the email.
func TestSeveralEmailIDHeadersAreIgnored(t *testing.T) {
	const ours, other = "0198c0de-0000-7000-8000-000000000001", "0198c0de-0000-7000-8000-000000000002"
	for name, headers := range map[string]string{
		"two that differ":    `{"name":"X-Mailer-Email-ID","value":"` + ours + `"},{"name":"X-Mailer-Email-ID","value":"` + other + `"}`,
		"the same twice":     `{"name":"X-Mailer-Email-ID","value":"` + ours + `"},{"name":"X-Mailer-Email-ID","value":"` + ours + `"}`,
		"another case":       `{"name":"x-mailer-email-id","value":"` + other + `"},{"name":"X-MAILER-EMAIL-ID","value":"` + ours + `"}`,
		"one without an id":  `{"name":"X-Mailer-Email-ID","value":""},{"name":"X-Mailer-Email-ID","value":"` + ours + `"}`,
		"three":              strings.Repeat(`{"name":"X-Mailer-Email-ID","value":"`+ours+`"},`, 2) + `{"name":"X-Mailer-Email-ID","value":"` + other + `"}`,
		"a Message-ID first": `{"name":"Message-ID","value":"<` + ours + `@acme.test>"},{"name":"X-Mailer-Email-ID","value":"` + ours + `"},{"name":"X-Mailer-Email-ID","value":"` + ours + `"}`,
		"a Message-ID last":  `{"name":"X-Mailer-Email-ID","value":"` + ours + `"},{"name":"X-Mailer-Email-ID","value":"` + ours + `"},{"name":"Message-ID","value":"<` + ours + `@acme.test>"}`,
	} {
		body := `{"eventType":"Complaint","complaint":{"complainedRecipients":[{"emailAddress":"bob@example.net"}]},
			"mail":{"messageId":"0100019f-aaaa-bbbb-000000","headers":[` + headers + `],"commonHeaders":{"messageId":"<` + other + `@acme.test>"}}}`
		reports, err := ReadSES("x", []byte(body))
		if err != nil || len(reports) != 1 || reports[0].EmailID != "" || reports[0].MessageID != "" || reports[0].ProviderID != "0100019f-aaaa-bbbb-000000" {
			t.Errorf("%s: %+v, %v", name, reports, err)
		}
	}
	for range 20 { // map order is random
		reports, err := readReports("postmark", []byte(`{"RecordType":"Delivery","MessageID":"883953f4","Recipient":"bob@example.net",
			"Metadata":{"mailer-email-id":"`+ours+`","Mailer-Email-ID":"`+other+`"}}`))
		if err != nil || len(reports) != 1 || reports[0].EmailID != "" || reports[0].ProviderID != "883953f4" {
			t.Fatalf("metadata: %+v, %v", reports, err)
		}
	}
}

func TestReadPostmark(t *testing.T) {
	const rest = `"MessageID":"883953f4-6105-42a2-a16a-77a8eac79483","MessageStream":"outbound","ServerID":23,"Metadata":{"user_id":43,"Mailer-Email-ID":"0198c0de-0000-7000-8000-000000000001"}}`
	for body, want := range map[string]string{
		`{"RecordType":"Bounce","ID":42,"Type":"HardBounce","TypeCode":1,"Details":"Test bounce details","Email":"john@example.com","BouncedAt":"2026-05-01T10:00:00.2735393-04:00","Inactive":true,`: "bounced john@example.com Permanent NoEmail",
		`{"ID":42,"Type":"HardBounce","Details":"smtp;550 5.7.1 blocked","Email":"john@example.com",`:                                                                                                 "bounced john@example.com Permanent NoEmail 5.7.1",
		`{"RecordType":"Bounce","ID":43,"Type":"SoftBounce","Details":"smtp;552 5.2.2 full","Email":"john@example.com",`:                                                                              "bounced john@example.com Transient General 5.2.2",
		`{"RecordType":"Bounce","ID":44,"Type":"Blocked","Details":"","Email":"john@example.com",`:                                                                                                    "bounced john@example.com Transient ContentRejected",
		`{"RecordType":"Bounce","ID":45,"Type":"AutoResponder","Email":"john@example.com",`:                                                                                                           "",
		`{"RecordType":"Bounce","ID":46,"Type":"Transient","Email":"john@example.com",`:                                                                                                               "delayed john@example.com",
		`{"RecordType":"SpamComplaint","ID":47,"Type":"SpamComplaint","Email":"john@example.com","BouncedAt":"2026-05-01T10:00:00Z",`:                                                                 "complained john@example.com",
		`{"RecordType":"Delivery","Recipient":"john@example.com","DeliveredAt":"2026-05-01T10:00:00Z","Details":"250 ok",`:                                                                            "delivered john@example.com",
		`{"RecordType":"Open","Recipient":"john@example.com","FirstOpen":true,"UserAgent":"Mozilla","Geo":{"IP":"192.0.2.1"},"ReceivedAt":"2026-05-01T10:00:00Z",`:                                    "opened john@example.com",
		`{"RecordType":"Click","Recipient":"john@example.com","OriginalLink":"https://example.com/","ReceivedAt":"2026-05-01T10:00:00Z",`:                                                             "clicked john@example.com",
		`{"RecordType":"SubscriptionChange","Recipient":"john@example.com",`:                                                                                                                          "",
	} {
		reports, err := readReports("postmark", []byte(body+rest))
		if err != nil || briefs(reports) != want {
			t.Errorf("%s\n%q, %v, want %q", body, briefs(reports), err, want)
		}
		for _, f := range reports {
			if f.EmailID != "0198c0de-0000-7000-8000-000000000001" || f.ProviderID != "883953f4-6105-42a2-a16a-77a8eac79483" || f.MessageID != "" {
				t.Errorf("%s: %+v", body, f)
			}
		}
	}
}

func TestPostmarkRecordWithTwoRecipientFields(t *testing.T) {
	reports, err := readReports("postmark", []byte(`{"RecordType":"Delivery","Email":"john@example.com","Recipient":"john@example.com"}`))
	if err != nil || len(reports) != 1 || reports[0].Recipient != "john@example.com" {
		t.Errorf("%+v, %v", reports, err)
	}
}

func TestReadMailgun(t *testing.T) {
	const rest = `"id":"G9Bn5sl1TC6nu79C8C0bwg","timestamp":1529006854.329574,"recipient":"alice@example.com","message":{"headers":{"message-id":"0198c0de-0000-7000-8000-000000000001@example.com","to":"x"},"size":111},"user-variables":{"n":1,"mailer-email-id":"0198c0de-0000-7000-8000-000000000002"},"tags":["a"]},"signature":{"timestamp":"1529006854","token":"t","signature":"s"}}`
	for body, want := range map[string]string{
		`{"event-data":{"event":"accepted",`:  "sent alice@example.com",
		`{"event-data":{"event":"delivered",`: "delivered alice@example.com",
		`{"event-data":{"event":"failed","severity":"permanent","reason":"bounce","delivery-status":{"attempt-no":1,"message":"","code":550,"enhanced-code":"5.1.1","description":"No such user"},`:   "bounced alice@example.com Permanent General 5.1.1",
		`{"event-data":{"event":"failed","severity":"permanent","reason":"generic","delivery-status":{"code":550,"message":"5.7.1 policy"},`:                                                          "bounced alice@example.com Permanent General 5.7.1",
		`{"event-data":{"event":"failed","severity":"permanent","reason":"old","delivery-status":{"code":452,"message":"4.2.2 full"},`:                                                                "bounced alice@example.com Transient General 4.2.2",
		`{"event-data":{"event":"failed","severity":"permanent","reason":"suppress-bounce","delivery-status":{"code":605,"message":"","description":"Not delivering to previously bounced address"},`: "bounced alice@example.com Permanent OnAccountSuppressionList",
		`{"event-data":{"event":"failed","severity":"permanent","reason":"suppress-unsubscribe","delivery-status":{"code":606},`:                                                                      "failed alice@example.com",
		`{"event-data":{"event":"failed","severity":"temporary","reason":"generic","delivery-status":{"code":452,"message":"4.2.2 full"},`:                                                            "delayed alice@example.com 4.2.2",
		`{"event-data":{"event":"rejected","reject":{"reason":"x"},`:                                                                                                                                  "failed alice@example.com",
		`{"event-data":{"event":"opened","client-info":{"user-agent":"Mozilla","bot":""},`:                                                                                                            "opened alice@example.com",
		`{"event-data":{"event":"clicked","url":"https://example.com/","client-info":{"bot":"scanner"},`:                                                                                              "clicked alice@example.com",
		`{"event-data":{"event":"complained",`:   "complained alice@example.com",
		`{"event-data":{"event":"unsubscribed",`: "",
	} {
		reports, err := readReports("mailgun", []byte(body+rest))
		if err != nil || briefs(reports) != want {
			t.Errorf("%s\n%q, %v, want %q", body, briefs(reports), err, want)
		}
		for _, f := range reports {
			if f.MessageID != "0198c0de-0000-7000-8000-000000000001@example.com" || f.EmailID != "0198c0de-0000-7000-8000-000000000002" || f.At.UnixMilli() != 1529006854330 || f.Machine != strings.Contains(body, `"scanner"`) {
				t.Errorf("%s: %+v", body, f)
			}
		}
	}
}

func TestReadSendGrid(t *testing.T) {
	event := func(s string) string {
		return `{"email":"a@example.net","timestamp":1513299569,"smtp-id":"<0198c0de-0000-7000-8000-000000000001@example.com>","category":["cat facts"],"sg_event_id":"e","sg_message_id":"m",` + s + `}`
	}
	events := []string{
		`"event":"processed"`, `"event":"deferred","response":"400 4.7.0 try again later","attempt":"5"`, `"event":"delivered","response":"250 OK"`,
		`"event":"bounce","reason":"500 unknown recipient","status":"5.0.0","type":"bounce"`,
		`"event":"bounce","reason":"500 unknown recipient","status":"5.0.0","type":"bounce","bounce_classification":"Invalid Address"`,
		`"event":"bounce","reason":"550 5.1.1 gone","status":"5.1.1"`,
		`"event":"bounce","reason":"550 5.7.1 no","status":"5.7.1","type":"blocked"`,
		`"event":"dropped","reason":"Bounced Address","status":"5.0.0"`, `"event":"dropped","reason":"Unsubscribed Address"`,
		`"event":"open","useragent":"Mozilla","ip":"192.0.2.1","sg_machine_open":true`, `"event":"click","url":"https://example.com/","ip":"192.0.2.1"`,
		`"event":"spamreport"`, `"event":"group_unsubscribe","asm_group_id":10`,
	}
	for i := range events {
		events[i] = event(events[i])
	}
	reports, err := readReports("sendgrid", []byte("["+strings.Join(events, ",")+"]"))
	const want = "sent a@example.net; delayed a@example.net 4.7.0; delivered a@example.net; bounced a@example.net Permanent General 5.0.0; " +
		"bounced a@example.net Permanent NoEmail 5.0.0; bounced a@example.net Permanent General 5.1.1; bounced a@example.net Transient General 5.7.1; " +
		"bounced a@example.net Permanent OnAccountSuppressionList; failed a@example.net; opened a@example.net; clicked a@example.net; complained a@example.net"
	if err != nil || briefs(reports) != want {
		t.Fatalf("%v\n%s\nwant\n%s", err, briefs(reports), want)
	}
	if f := reports[9]; !f.Machine || f.IPAddress != "192.0.2.1" || f.MessageID != "0198c0de-0000-7000-8000-000000000001@example.com" || f.At.Unix() != 1513299569 {
		t.Errorf("%+v", f)
	}
}

func TestReadGeneric(t *testing.T) {
	one := `{"type":"email.bounced","email_id":"0198c0de-0000-7000-8000-000000000001","recipient":"a@example.net","enhanced_code":"5.1.1","created_at":"2026-05-01T10:00:00Z"}`
	for body, want := range map[string]string{
		one:                          "bounced a@example.net 5.1.1",
		" [" + one + "," + one + "]": "bounced a@example.net 5.1.1; bounced a@example.net 5.1.1",
		`{"type":"delivered","message_id":"<x@y>"}`:                                                   "delivered",
		`{"type":"bounced","provider_id":"p","diagnostic":"550 5.2.1 off","bounce_type":"Permanent"}`: "bounced Permanent 5.2.1",
	} {
		if reports, err := readReports("generic", []byte(body)); err != nil || briefs(reports) != want {
			t.Errorf("%s\n%q, %v", body, briefs(reports), err)
		}
	}
	for body, want := range map[string]app.Code{
		``: app.CodeInvalidPayload, `null`: app.CodeValidation, `[]`: app.CodeValidation, `"x"`: app.CodeInvalidPayload, `{"type":"delivered","email_id":"x","more":1}`: app.CodeInvalidPayload,
		`{"type":"delivered","type":"bounced","email_id":"x"}`: app.CodeInvalidPayload,
		`{}`: app.CodeValidation, `{"type":"delivered"}`: app.CodeValidation, `{"type":"x","email_id":"x"}`: app.CodeValidation,
		`{"type":"bounced","email_id":"x","enhanced_code":"550"}`: app.CodeValidation, `{"type":"bounced","email_id":"x","bounce_type":"hard"}`: app.CodeValidation,
		`{"type":"bounced","email_id":"x","created_at":"yesterday"}`: app.CodeValidation, "[" + strings.Repeat(one+",", 1000) + one + "]": app.CodeValidation,
	} {
		_, err := readReports("generic", []byte(body))
		var refusal *app.Error
		if !errors.As(err, &refusal) || refusal.Code != want {
			t.Errorf("%.100s: %v, want %s", body, err, want)
		}
	}
}

// FuzzFeedback checks that readers return storable reports or an error for the caller.
func FuzzFeedback(f *testing.F) {
	f.Add([]byte(`{"eventType":"Bounce","bounce":{"bounceType":"Permanent","bouncedRecipients":[{"emailAddress":"a@b.c","status":"5.1.1"}]},` + sesMail + "}"))
	f.Add([]byte(`{"RecordType":"Bounce","ID":42,"Type":"HardBounce","Details":"550 5.1.1","Email":"j@e.c","BouncedAt":"2026-05-01T10:00:00Z"}`))
	f.Add([]byte(`{"event-data":{"event":"failed","timestamp":1e308,"delivery-status":{"code":null}}}`))
	f.Add([]byte(`[{"event":"bounce","timestamp":-1,"status":"5.1.1","reason":"x"}]`))
	f.Add([]byte(`[{"type":"bounced","email_id":"x"}]`))
	for _, p := range providers {
		for _, e := range documentedEvents(f, p.Source) {
			f.Add([]byte(e.body))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, p := range providers {
			reports, err := readReports(p.Source, body)
			if p.Proof == ProofSNS {
				reports, err = ReadSES("id", body)
			}
			var refusal *app.Error
			if err != nil && !errors.As(err, &refusal) {
				t.Fatalf("error %v", err)
			}
			now := time.Now()
			for _, r := range reports {
				r = r.Bound(now.Add(-time.Hour), now)
				if r.Source == "" || r.ID == "" || r.Kind.LastEvent() == "" || len(r.Diagnostic) > 500 || len(r.Link) > 2048 || r.At.After(now) {
					t.Fatalf("report %+v", r)
				}
			}
		}
	})
}
