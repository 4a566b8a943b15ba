// Package manual serves the manual for operators as HTML that works without scripts, with a search
// on the server. Each Markdown file of this folder is a page. It also serves a Grafana dashboard
// (grafana.json) and Prometheus alert rules (alerts.yml). Only web imports it.
//
// Failure policy: unknown pages are answered with 404 and the list of pages.
package manual
