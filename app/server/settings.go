package server

import (
	"log/slog"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/operate/settings"
	"mailer/app/sending/delivery"
)

// applySettings applies settings that were stored before or changed while the server runs.
func (s *Server) applySettings(f *settings.Flags, level *slog.LevelVar) {
	s.Settings.SetRules(base.Rules{Enforce: f.Guardrails == "enforce" || s.Settings.Cloud, Compat: app.Compat(f.Compat), Keep: f.Keep.Retention()})
	s.Webhooks.SetWebhooksPerTeam(f.WebhooksPerTeam)
	s.RequestLog.SetOff(f.Silent())
	s.Backup.SetDaily(f.Backup)
	s.Health.SetAlerts(f.Alerts)
	if level != nil {
		level.Set(f.Level())
	}
	s.Delivery.Tune(delivery.Tuning{DoubtDelay: f.DoubtDelay, MaxWait: f.Waits.MaxWait(), BulkShare: 1 - f.Reserve})
	if s.DB.Cluster().Leads() { // commands use them
		s.logError("note the settings of this server", s.SaveSettings(s.Claiming))
	}
}
