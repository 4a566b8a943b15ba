package dnscheck

import (
	"slices"
	"strings"
	"testing"

	"mailer/app"
)

func TestSPFOfReserves(t *testing.T) {
	const at = "send.example.com TXT "
	const amazon, other = "include:amazonses.com", "ip4:8.8.4.4"
	both := app.RelayNeeds{SPF: amazon, ReserveSPF: []string{other}}
	swapped := app.RelayNeeds{SPF: other, ReserveSPF: []string{amazon}}
	for name, test := range map[string]struct {
		needs  app.RelayNeeds
		status app.DomainStatus
		by     string // of the last check
		record string
		live   app.Live
		now    string // ValidBy
		lacks  []string
	}{
		"both":                               {both, app.DomainPending, "", "v=spf1 include:amazonses.com ip4:8.8.4.4 ~all", app.LiveFound, amazon, nil},
		"the reserve is missing":             {both, app.DomainPending, "", "v=spf1 include:amazonses.com -all", app.LiveFound, amazon, []string{other}},
		"the reserve comes after all":        {both, app.DomainVerified, amazon, "v=spf1 include:amazonses.com -all ip4:8.8.4.4", app.LiveFound, amazon, []string{other}},
		"everyone may send":                  {both, app.DomainPending, "", "v=spf1 include:amazonses.com +all", app.LiveFound, amazon, nil},
		"the primary is missing":             {both, app.DomainPending, "", "v=spf1 ip4:8.8.4.4 ~all", app.LiveMismatch, "", nil},
		"the owner removed the primary":      {both, app.DomainVerified, amazon, "v=spf1 ip4:8.8.4.4 ~all", app.LiveMismatch, "", nil},
		"another primary":                    {swapped, app.DomainVerified, amazon, "v=spf1 include:amazonses.com ~all", app.LiveFound, amazon, []string{other}},
		"another primary, not verified":      {swapped, app.DomainPending, amazon, "v=spf1 include:amazonses.com ~all", app.LiveMismatch, "", nil},
		"another primary, both":              {swapped, app.DomainVerified, amazon, "v=spf1 include:amazonses.com ip4:8.8.4.4 ~all", app.LiveFound, other, nil},
		"the former primary was removed":     {app.RelayNeeds{SPF: other}, app.DomainVerified, amazon, "v=spf1 include:amazonses.com ~all", app.LiveFound, amazon, []string{other}},
		"removed, and then its term":         {app.RelayNeeds{SPF: other}, app.DomainVerified, amazon, "v=spf1 mx ~all", app.LiveMismatch, "", nil},
		"the former primary needed no term":  {both, app.DomainVerified, app.AnySPF, "v=spf1 mx ~all", app.LiveFound, app.AnySPF, []string{amazon, other}},
		"the primary needs no term":          {app.RelayNeeds{ReserveSPF: []string{other}}, app.DomainPending, "", "v=spf1 mx ~all", app.LiveFound, app.AnySPF, []string{other}},
		"verified by an earlier version":     {swapped, app.DomainVerified, "", "v=spf1 include:amazonses.com ~all", app.LiveMismatch, "", nil},
		"another primary, an invalid record": {swapped, app.DomainVerified, amazon, "v=spf1 include:amazonses.com ipv4:1.2.3.4 ~all", app.LiveMismatch, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := testDomain("example.com")
			d.Status = test.status
			d.Checks = []app.RecordCheck{{Record: app.RecordSPF, Name: "send.example.com", Type: "TXT", Live: app.LiveFound, ValidBy: test.by}}
			c := checkOf(t, d, test.needs, app.RecordSPF, "TXT", at+test.record)
			if c.Live != test.live || c.ValidBy != test.now || !slices.Equal(c.Lacks, test.lacks) {
				t.Errorf("%+v", c)
			}
			for _, mechanism := range test.lacks {
				if !strings.Contains(c.Detail, mechanism) {
					t.Errorf("the detail %q does not name %s", c.Detail, mechanism)
				}
			}
			if words := strings.Fields(test.record); len(test.lacks) == 1 && !strings.Contains(c.Detail, strings.Join(words[:2], " ")+" "+test.lacks[0]+" ") {
				t.Errorf("the detail %q does not show the whole record", c.Detail)
			}
		})
	}
}

// What a verified domain has is known while no server answers.
func TestUnansweredCheckKeepsWhatWasFound(t *testing.T) {
	d := testDomain("example.com")
	d.Status = app.DomainVerified
	d.Checks = []app.RecordCheck{
		{Record: app.RecordSPF, Name: "send.example.com", Type: "TXT", Live: app.LiveFound, ValidBy: "mx", Has: []string{"mx"}, Lacks: []string{"a:b.test"}},
		{Record: app.RecordDMARC, Name: "_dmarc.example.com", Type: "TXT", Live: app.LiveFound, Policy: "reject"},
	}
	d.Checks = Check(t.Context(), d, sesNeeds, "", fakeDNS{"send.example.com fail", "_dmarc.example.com fail"}.lookup)
	if c := d.SPFCheck(); c.Live != app.LiveUnknown || c.ValidBy != "mx" || !slices.Equal(c.Has, []string{"mx"}) || !slices.Equal(c.Lacks, []string{"a:b.test"}) {
		t.Errorf("%+v", c)
	}
	if p := d.StrictDMARC(); p != "reject" {
		t.Errorf("policy %q", p)
	}
}
