// Package manual is the folder of what the manual hands to those who watch a server: a
// dashboard for Grafana (grafana.json) and rules for Prometheus' alerts (alerts.yml).
// It holds no code; its tests prove that both name only what GET /metrics answers.
package manual
