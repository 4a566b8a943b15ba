package automations

import (
	"fmt"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/rules/automation"
)

// zones are time zones with hours that begin at other minutes, and with clocks that go forward by an hour or half.
var zones = []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Pacific/Kiritimati", "UTC"}

// TestDatesOfAYear looks for starts by date each quarter of an hour that is needed, around days of the year 2028 at
// which clocks change, and around others.
func TestDatesOfAYear(t *testing.T) {
	dates := []string{"2028-01-01", "2028-02-28", "2028-02-29", "2028-03-12", "2028-03-26", "2028-04-02", "2028-10-01", "2028-10-29", "2028-11-05", "2028-12-31", "2028-07-01T23:30:00+02:00"}
	for _, name := range zones {
		for _, hour := range []int{0, 2, 9, 23} {
			zone, _ := automation.Zone(name)
			c := &automation.TriggerConfig{EventName: app.TriggerDate, Property: "day", Hour: hour}
			quarters := 0
			for _, date := range dates {
				day, err := time.Parse(time.DateOnly, date[:10])
				if err != nil {
					t.Fatal(err)
				}
				var all []time.Time
				for from, to := day.AddDate(0, 0, -2), day.AddDate(0, 0, -2).Add(quarter); to.Before(day.AddDate(0, 0, 3)); from, to = to, nextQuarter(to, quarters) {
					at, day, unreadable, minute := dateStart(c, withProperties("day", date, "time_zone", name), "Asia/Tokyo", from, to)
					if unreadable {
						t.Fatalf("%s in %s can't be read", date, name)
					}
					if minute > 0 {
						quarters |= 1 << (minute / 15)
					}
					if at.IsZero() {
						continue
					}
					if day != date[:10] || to.Before(at) || to.Sub(at) >= quarter {
						t.Errorf("%s at %d in %s, which is %v, starts at %v for %s", date, hour, name, at, to, day)
					}
					all = append(all, at)
				}
				if len(all) != 1 {
					t.Errorf("%s at %d in %s starts %v", date, hour, name, all)
					continue
				}
				local := all[0].In(zone)
				if gap := all[0].Add(-time.Second).In(zone); local.Format(time.DateOnly) != date[:10] || local.Minute() != 0 && gap.Hour() == hour || local.Hour() != hour && gap.Hour() != hour-1 {
					t.Errorf("%s at %d in %s starts at %v", date, hour, name, local)
				}
			}
		}
	}
}

func withProperties(pairs ...string) *app.Contact {
	c := &app.Contact{Properties: app.Properties{}}
	for i := 0; i < len(pairs); i += 2 {
		c.Properties[pairs[i]] = app.PropertyValue{Type: app.StringProperty, Text: pairs[i+1]}
	}
	return c
}

func TestDateStarts(t *testing.T) {
	for _, c := range []struct {
		what       string
		trigger    automation.TriggerConfig
		contact    *app.Contact
		from, to   string
		at, date   string
		unreadable bool
	}{
		{"a date", automation.TriggerConfig{Hour: 9}, withProperties("day", "2026-05-04"), "2026-05-04T08:00:00Z", "2026-05-04T09:00:00Z", "2026-05-04T09:00:00Z", "2026-05-04", false},
		{"the time just before", automation.TriggerConfig{Hour: 9}, withProperties("day", "2026-05-04"), "2026-05-04T09:00:00Z", "2026-05-04T10:00:00Z", "", "", false},
		{"another year", automation.TriggerConfig{Hour: 9}, withProperties("day", "2025-05-04"), "2026-05-04T08:00:00Z", "2026-05-04T09:00:00Z", "", "", false},
		{"yearly", automation.TriggerConfig{Hour: 9, Yearly: true}, withProperties("day", "1990-05-04"), "2026-05-04T08:00:00Z", "2026-05-04T09:00:00Z", "2026-05-04T09:00:00Z", "2026-05-04", false},
		{"yearly on 29 February", automation.TriggerConfig{Yearly: true}, withProperties("day", "2000-02-29"), "2026-02-27T23:00:00Z", "2026-02-28T00:00:00Z", "2026-02-28T00:00:00Z", "2026-02-28", false},
		{"yearly on 29 February in a leap year", automation.TriggerConfig{Yearly: true}, withProperties("day", "2000-02-29"), "2028-02-27T23:00:00Z", "2028-02-29T00:00:00Z", "2028-02-29T00:00:00Z", "2028-02-29", false},
		{"days before, in the year before", automation.TriggerConfig{Yearly: true, Days: -7}, withProperties("day", "2000-01-03"), "2026-12-26T23:00:00Z", "2026-12-27T00:00:00Z", "2026-12-27T00:00:00Z", "2027-01-03", false},
		{"days after, in the next year", automation.TriggerConfig{Yearly: true, Days: 7}, withProperties("day", "2000-12-30"), "2027-01-05T23:00:00Z", "2027-01-06T00:00:00Z", "2027-01-06T00:00:00Z", "2026-12-30", false},
		{"no date", automation.TriggerConfig{}, withProperties("time_zone", "UTC"), "2026-05-03T23:00:00Z", "2026-05-04T00:00:00Z", "", "", false},
		{"an empty date", automation.TriggerConfig{}, withProperties("day", ""), "2026-05-03T23:00:00Z", "2026-05-04T00:00:00Z", "", "", false},
		{"no readable date", automation.TriggerConfig{}, withProperties("day", "4.5.2026"), "2026-05-03T23:00:00Z", "2026-05-04T00:00:00Z", "", "", true},
		{"a number", automation.TriggerConfig{}, &app.Contact{Properties: app.Properties{"day": {Type: app.NumberProperty, Number: 20260504}}}, "2026-05-03T23:00:00Z", "2026-05-04T00:00:00Z", "", "", true},
		{"no readable zone counts as that of the team", automation.TriggerConfig{}, withProperties("day", "2026-05-04", "time_zone", "Mars"), "2026-05-03T14:00:00Z", "2026-05-03T15:00:00Z", "2026-05-03T15:00:00Z", "2026-05-04", true},
	} {
		t.Run(c.what, func(t *testing.T) {
			zone := "UTC"
			if c.unreadable {
				zone = "Asia/Tokyo"
			}
			from, _ := time.Parse(time.RFC3339, c.from)
			to, _ := time.Parse(time.RFC3339, c.to)
			c.trigger.Property = "day"
			at, date, unreadable, _ := dateStart(&c.trigger, c.contact, zone, from, to)
			got := ""
			if !at.IsZero() {
				got = at.UTC().Format(time.RFC3339)
			}
			if got != c.at || date != c.date || unreadable != c.unreadable {
				t.Errorf("%s for %q, unreadable %v", got, date, unreadable)
			}
		})
	}
}

// TestScheduleOfAYear: each day of a year has one start at the local time, or the next that exists.
func TestScheduleOfAYear(t *testing.T) {
	for _, name := range zones {
		for _, fields := range []string{"0 9 * * *", "30 2 * * *", "15 0 * * *", "59 23 * * *"} {
			var minute, hour int
			if _, err := fmt.Sscan(fields, &minute, &hour); err != nil {
				t.Fatal(err)
			}
			zone, _ := automation.Zone(name)
			cron, err := automation.ParseSchedule(fields)
			if err != nil {
				t.Fatal(err)
			}
			s := schedule{cron, zone}
			at := time.Date(2028, 1, 1, 0, 0, 0, 0, zone).Add(-time.Second)
			for day := range 366 {
				next := s.next(at)
				if last := s.last(at.Add(time.Second), next); !last.Equal(next) {
					t.Errorf("the last time up to %v is %v", next, last)
				}
				if early := s.last(at.Add(time.Second), next.Add(-time.Second)); !early.IsZero() {
					t.Errorf("there is a time at %v before %v", early, next)
				}
				local, want := next.In(zone), time.Date(2028, 1, 1+day, 0, 0, 0, 0, time.UTC)
				_, before := next.Add(-time.Second).In(zone).Zone()
				_, after := local.Zone()
				if local.Format(time.DateOnly) != want.Format(time.DateOnly) || (local.Hour() != hour || local.Minute() != minute) && after <= before {
					t.Fatalf("%s in %s on %s is %v", fields, name, want.Format(time.DateOnly), local)
				}
				at = next
			}
		}
	}
	cron, err := automation.ParseSchedule("0 9 31 2 *")
	if err != nil {
		t.Fatal(err)
	}
	if at := (schedule{cron, time.UTC}).next(time.Now()); !at.IsZero() {
		t.Errorf("31 February is %v", at)
	}
}
