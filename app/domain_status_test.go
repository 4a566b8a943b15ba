package app

import (
	"testing"
	"time"
)

func TestNextDomainStatus(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	due, soon := now.Add(RecheckEvery), now.Add(RecheckSoon)
	recent := now.Add(-time.Hour + time.Second)
	hour := now.Add(-time.Hour)
	overdue := now.Add(-GiveUpVerifying)
	var never time.Time
	for name, test := range map[string]struct {
		status    DomainStatus
		since     time.Time
		trusted   bool
		dkim, spf Live
		want      DomainStatus
		wantSince time.Time
		wantAt    time.Time
	}{
		"pending, all found":             {DomainPending, hour, false, LiveFound, LiveFound, DomainVerified, never, due},
		"pending, one missing":           {DomainPending, hour, false, LiveFound, LiveMissing, DomainPending, hour, due},
		"pending, one unknown":           {DomainPending, hour, false, LiveUnknown, LiveFound, DomainPending, hour, due},
		"pending for less than an hour":  {DomainPending, recent, false, LiveFound, LiveMissing, DomainPending, recent, soon},
		"pending, start unknown":         {DomainPending, never, false, LiveMissing, LiveFound, DomainPending, now, soon},
		"pending, just before 72 h":      {DomainPending, overdue.Add(1), false, LiveMissing, LiveFound, DomainPending, overdue.Add(1), due},
		"pending for 72 h":               {DomainPending, overdue, false, LiveMissing, LiveFound, DomainFailed, never, never},
		"pending for 72 h, unknown":      {DomainPending, overdue, false, LiveUnknown, LiveUnknown, DomainFailed, never, never},
		"pending for 72 h, found at end": {DomainPending, overdue, false, LiveFound, LiveFound, DomainVerified, never, due},
		"verified, found":                {DomainVerified, never, false, LiveFound, LiveFound, DomainVerified, never, due},
		"verified, DKIM gone":            {DomainVerified, never, false, LiveMissing, LiveFound, DomainPending, now, soon},
		"verified, SPF changed":          {DomainVerified, never, false, LiveFound, LiveMismatch, DomainPending, now, soon},
		"verified, nobody answers":       {DomainVerified, never, false, LiveUnknown, LiveUnknown, DomainVerified, never, due},
		"verified, one gone, one silent": {DomainVerified, never, false, LiveMissing, LiveUnknown, DomainPending, now, soon},
		"failed, found":                  {DomainFailed, never, false, LiveFound, LiveFound, DomainVerified, never, due},
		"failed, still missing":          {DomainFailed, never, false, LiveMissing, LiveFound, DomainFailed, never, never},
		"not started, missing":           {DomainNotStarted, never, false, LiveMissing, LiveMissing, DomainNotStarted, never, never},
		"trusted, all missing":           {DomainVerified, never, true, LiveMissing, LiveMissing, DomainVerified, never, due},
		"trusted later":                  {DomainFailed, never, true, LiveMissing, LiveMissing, DomainVerified, never, due},
	} {
		t.Run(name, func(t *testing.T) {
			d := &Domain{Name: "example.com", ReturnPath: "send", Status: test.status, PendingSince: test.since, Trusted: test.trusted,
				Keys: []DKIMPair{{Selector: "mailer2", State: DKIMNext}, {Selector: "mailer", State: DKIMSigning}}}
			checks := []RecordCheck{
				{Record: RecordDKIM, Name: "mailer2._domainkey.example.com", Type: "TXT", Live: LiveMissing},
				{Record: RecordDKIM, Name: "mailer._domainkey.example.com", Type: "TXT", Live: test.dkim},
				{Record: RecordSPF, Name: "send.example.com", Type: "MX", Live: LiveMissing},
				{Record: RecordSPF, Name: "send.example.com", Type: "TXT", Live: test.spf},
				{Record: RecordDMARC, Name: "_dmarc.example.com", Type: "TXT", Live: LiveMissing},
			}
			status, since, at := NextDomainStatus(d, checks, now)
			if status != test.want || !since.Equal(test.wantSince) || !at.Equal(test.wantAt) {
				t.Errorf("%s, %s, %s", status, since, at)
			}
		})
	}
}

func TestNextDomainStatusWithoutChecksOrKey(t *testing.T) {
	now := time.Now()
	found := []RecordCheck{{Record: RecordSPF, Name: "send.example.com", Type: "TXT", Live: LiveFound}}
	d := &Domain{Name: "example.com", ReturnPath: "send", Status: DomainPending, PendingSince: now}
	if status, _, _ := NextDomainStatus(d, found, now); status != DomainPending {
		t.Errorf("without a key: %s", status)
	}
	d.Keys = []DKIMPair{{Selector: "mailer", State: DKIMSigning}}
	if status, _, _ := NextDomainStatus(d, found, now); status != DomainPending {
		t.Errorf("without a check of DKIM: %s", status)
	}
	d.Status = DomainVerified
	if status, _, _ := NextDomainStatus(d, nil, now); status != DomainVerified {
		t.Errorf("without checks: %s", status)
	}
}

func TestStartVerifying(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	hour := now.Add(-time.Hour)
	for name, test := range map[string]struct {
		d     Domain
		want  DomainStatus
		since time.Time
	}{
		"not started": {Domain{Status: DomainNotStarted}, DomainPending, now},
		"failed":      {Domain{Status: DomainFailed}, DomainPending, now},
		"pending":     {Domain{Status: DomainPending, PendingSince: hour}, DomainPending, hour},
		"verified":    {Domain{Status: DomainVerified}, DomainVerified, time.Time{}},
		"trusted":     {Domain{Status: DomainVerified, Trusted: true}, DomainVerified, time.Time{}},
	} {
		status, since, at := StartVerifying(&test.d, now)
		if status != test.want || !since.Equal(test.since) || !at.Equal(now) {
			t.Errorf("%s: %s, %s, %s", name, status, since, at)
		}
	}
}
