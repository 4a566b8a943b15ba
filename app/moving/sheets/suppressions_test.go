package sheets

import (
	"strings"
	"testing"

	"mailer/app/rules/archive"
)

func TestSuppressionsOfEachService(t *testing.T) {
	for _, tt := range []struct{ from, name, text, want string }{
		{"sendgrid", "bounces.json", `[
  {"created": 1443651125, "email": "A@example.org", "reason": "550 5.1.1 no such", "status": "5.1.1"},
  {"created": 1443651125, "email": "b@example.org", "reason": "full", "status": "4.2.2"},
  7,
  {"created": 1443651125},
  {"email": "not one"}
]`, `
			suppression a@example.org bounce bounces.json:2
			refused bounces.json:4 The entry is no object
			refused bounces.json:5 There is no email address
			refused bounces.json:6 The email address is not valid
			left 1`},
		{"sendgrid", "blocks.json", `[{"created":1,"email":"a@example.org","reason":"550 5.1.1","status":"5.1.1"}]`, "left 1"},
		{"sendgrid", "x.json", `[{"created":1,"email":"a@example.org","reason":"550 5.7.1 policy","status":"5.7.1"},{"created":1,"email":"b@example.org","ip":"192.0.2.1"},{"created":1,"email":"c@example.org","reason":"Mail domain mentioned in email address is unknown"},{"created":1,"email":"d@example.org"}]`, `
			suppression b@example.org complaint x.json:1
			suppression c@example.org bounce x.json:1
			suppression d@example.org unsubscribe x.json:1
			left 1`},
		{"sendgrid", "invalid_emails.csv", "email,reason,created\na@example.org,unknown,1443651125\n", "suppression a@example.org bounce invalid_emails.csv:2"},
		{"sendgrid", "bounces.csv", "status,reason,email,created\n5.1.1,\"550, \"\"no\"\"\nsuch\",a@example.org,1443651125\n5.1.1,x,b@example.org\n5.1.1,x,,1\n", `
			suppression a@example.org bounce bounces.csv:2
			suppression b@example.org bounce bounces.csv:4
			refused bounces.csv:4 The row has 3 columns, the first row of the file has 4
			refused bounces.csv:5 There is no email address`},
		{"postmark", "dump.json", `{"Suppressions":[
{"EmailAddress":"a@example.org","SuppressionReason":"HardBounce","Origin":"Recipient","CreatedAt":"2019-12-17T08:58:33-05:00"},
{"EmailAddress":"b@example.org","SuppressionReason":"SpamComplaint","Origin":"Recipient"},
{"EmailAddress":"c@example.org","SuppressionReason":"ManualSuppression","Origin":"Recipient"},
{"EmailAddress":"d@example.org","SuppressionReason":"ManualSuppression","Origin":"Admin"}]}`, `
			suppression a@example.org bounce dump.json:2
			suppression b@example.org complaint dump.json:3
			suppression c@example.org unsubscribe dump.json:4
			suppression d@example.org manual dump.json:5`},
		{"postmark", "bounces.json", `{"TotalCount":3,"Bounces":[{"ID":1,"Type":"HardBounce","TypeCode":1,"Name":"Hard bounce","Email":"a@example.org","From":"x@example.org","BouncedAt":"2019-12-17T08:58:33-05:00"},
{"Type":"SoftBounce","Email":"b@example.org"},{"Type":"SpamNotification","Email":"c@example.org"}]}`, `
			suppression a@example.org bounce bounces.json:1
			suppression c@example.org complaint bounces.json:2
			left 1`},
		{"mailgun", "bounces.json", `{"items":[{"address":"a@example.org","code":"550","error":"No such mailbox","created_at":"Fri, 21 Oct 2011 11:02:55 UTC"},{"address":"b@example.org","code":"452","error":"full"}],"paging":{"next":"https://x","first":"https://y"}}`, `
			suppression a@example.org bounce bounces.json:1
			left 1`},
		{"mailgun", "page1.json", `{"items":[{"address":"a@example.org","tags":["*"],"created_at":"Fri, 21 Oct 2011 11:02:55 UTC"}]}
{"items":[{"address":"b@example.org","created_at":"Fri, 21 Oct 2011 11:02:55 UTC"}]}
{"items":[],"paging":{}}`, `
			suppression a@example.org unsubscribe page1.json:1
			suppression b@example.org complaint page1.json:2`},
		{"mailgun", "complaints.csv", "address,created_at\na@example.org,\"Fri, 21 Oct 2011 11:02:55 UTC\"\n", "suppression a@example.org complaint complaints.csv:2"},
		{"mailgun", "x.csv", "address,code,error,created_at\na@example.org,550,no,\n", "suppression a@example.org bounce x.csv:2"},
		{"mailgun", "x.csv", "address,tags,created_at\na@example.org,*,\n", "suppression a@example.org unsubscribe x.csv:2"},
		{"ses", "list.json", `{
    "SuppressedDestinationSummaries": [
        {
            "EmailAddress": "a@example.org",
            "Reason": "BOUNCE",
            "LastUpdateTime": "2020-04-10T21:03:05-05:00"
        },
        {
            "EmailAddress": "b@example.org",
            "Reason": "COMPLAINT",
            "LastUpdateTime": 1586552585.077
        }
    ], "NextToken": "x"
}`, `
			suppression a@example.org bounce list.json:3
			suppression b@example.org complaint list.json:8`},
		{"ses", "list.csv", "Email address,Suppression reason,Last updated\na@example.org,Bounce,2020\nb@example.org,Complaint,2020\n", `
			suppression a@example.org bounce list.csv:2
			suppression b@example.org complaint list.csv:3`},
		{"ses", "lines.json", "{\"EmailAddress\":\"a@example.org\",\"Reason\":\"BOUNCE\"}\n{\"EmailAddress\":\"b@example.org\",\"Reason\":\"BOU", `
			suppression a@example.org bounce lines.json:1
			refused lines.json:2 the file ends in the middle of its JSON`},
		{"postmark", "empty.json", `{"Suppressions":[]}`, ""},
	} {
		t.Run(tt.from+" "+tt.name, func(t *testing.T) {
			got, err := described(t, func(w *archive.Writer) (int, error) { return ReadSuppressions(w, file(t, tt.name, tt.text), tt.from) })
			same(t, got, err, tt.want)
		})
	}
}

func TestUnreadableListIsNamed(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "it is empty",
		"  \n":                             "it is empty",
		"name\nx\n":                        "has no column for the email address",
		"[":                                "the file ends in the middle",
		"{\"a\"":                           "the file ends in the middle",
		"[\n{\"email\": \"a\nb\"}]":        "Line 2: this is no valid JSON",
		"[]]":                              "this is no valid JSON",
		"\x1f\x8b\x08":                     "compressed with gzip",
		"[\"" + strings.Repeat("x", 3<<20): "an entry is longer than",
	} {
		got, err := described(t, func(w *archive.Writer) (int, error) { return ReadSuppressions(w, file(t, "list.json", text), "ses") })
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "list.json") {
			t.Errorf("%.10q: %v\n%s", text, err, got)
		}
	}
	if _, err := ReadSuppressions(nil, "x", "odd"); err == nil {
		t.Error("an unknown service is taken")
	}
}
