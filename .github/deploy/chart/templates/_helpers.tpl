{{- define "mailer.name" -}}
{{- if contains "mailer" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-mailer" .Release.Name | trunc 50 | trimSuffix "-" }}{{ end -}}
{{- end -}}

{{- define "mailer.selector" -}}
app.kubernetes.io/name: mailer
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "mailer.labels" -}}
{{ include "mailer.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 }}
{{- end -}}

{{- define "mailer.secret" -}}
{{- .Values.secret.existing | default (include "mailer.name" .) -}}
{{- end -}}
