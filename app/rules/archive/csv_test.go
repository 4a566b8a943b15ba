package archive

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"mailer/app"
)

func TestCSVFiles(t *testing.T) {
	dir := t.TempDir()
	s := NewSheets(dir)
	at := time.UnixMilli(1_790_000_000_123)
	for _, item := range []struct {
		kind Kind
		item any
	}{
		{Properties, &Property{ID: "p1", Key: "city", Type: app.StringProperty, Fallback: "=1+1"}},
		{Properties, &Property{ID: "p2", Key: "email", Type: app.NumberProperty, Fallback: -2.5}},
		{Segments, &Segment{ID: "s1", Name: "@town"}},
		{Contacts, &Contact{ID: "c1", Email: "a@example.org", FirstName: "A \"B\"\nC", Segments: []string{"s1", "s2"}, CreatedAt: at,
			Properties: map[string]any{"city": "+49", "email": -1.0, "old": "x"}}},
		{Contacts, &Contact{ID: "c2", Email: "b@example.org", Unsubscribed: true, Former: []string{"x@example.org", "y@example.org"}}},
		{Domains, &Domain{ID: "d1", Name: "a.example", Records: []app.DNSRecord{{Record: "SPF", Type: "MX", Name: "send.a.example", Value: "mx.example", Priority: 10}, {Record: "DKIM", Type: "TXT"}}}},
		{Domains, &Domain{ID: "d2", Name: "b.example"}},
		{Keys, &Key{ID: "k1"}},
	} {
		if err := s.Put(item.kind, item.item); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"properties.csv": "id,key,type,fallback_value,created_at\r\np1,city,string,'=1+1,\r\np2,email,number,-2.5,\r\n",
		"segments.csv":   "id,name,filter,created_at\r\ns1,'@town,,\r\n",
		"contacts.csv": "id,email,first_name,last_name,unsubscribed,segments,former_addresses,created_at,updated_at,city,properties.email,other_properties\r\n" +
			"c1,a@example.org,\"A \"\"B\"\"\nC\",,false,'@town; s2,,2026-09-21T14:13:20.123Z,,'+49,-1,\"{\"\"old\"\":\"\"x\"\"}\"\r\n" +
			"c2,b@example.org,,,true,,x@example.org; y@example.org,,,,,\r\n",
		"domains.csv": "id,domain,region,domain_status,record,type,name,value,priority,ttl,status\r\n" +
			"d1,a.example,,,SPF,MX,send.a.example,mx.example,10,,\r\nd1,a.example,,,DKIM,TXT,,,,,\r\nd2,b.example,,,,,,,,,\r\n",
	} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || string(got) != want {
			t.Errorf("%s is %v\n%q, want\n%q", name, err, got, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "keys.csv")); err == nil {
		t.Error("keys have a sheet")
	}
}
