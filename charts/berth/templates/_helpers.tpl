{{- define "berth.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* 40 characters, so that "-metrics" and a StatefulSet's hashes fit behind it. */}}
{{- define "berth.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "berth.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "berth.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "berth.selector" -}}
app.kubernetes.io/name: {{ include "berth.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* managed-by isn't "berth": that is what berth itself makes, and looks after. */}}
{{- define "berth.labels" -}}
{{ include "berth.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* The Service of the metrics, whose name is the label `job` of what is scraped. */}}
{{- define "berth.metricsName" -}}
{{ include "berth.fullname" . }}-metrics
{{- end -}}

{{/* Where programs with the internal secret find the API. */}}
{{- define "berth.internalUrl" -}}
{{- if .Values.internalApi.enabled -}}
http://{{ include "berth.fullname" . }}-internal:{{ .Values.internalApi.port }}
{{- else -}}
http://{{ include "berth.fullname" . }}:{{ .Values.service.port }}
{{- end -}}
{{- end -}}

{{- define "berth.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (ternary (include "berth.fullname" .) "default" .Values.serviceAccount.create) -}}
{{- end -}}

{{/* Cluster-wide names: the namespace tells releases apart. */}}
{{- define "berth.clusterName" -}}
{{- printf "%s:%s" .Release.Namespace (include "berth.fullname" .) -}}
{{- end -}}

{{/* Cluster-wide names of kinds whose names can't have a colon. */}}
{{- define "berth.clusterId" -}}
{{- printf "%s-%s" .Release.Namespace (include "berth.fullname" .) -}}
{{- end -}}

{{/* The ClusterRole that berth binds itself to in apps' namespaces. */}}
{{- define "berth.tenantRole" -}}
{{- printf "%s:tenant" (include "berth.clusterName" .) -}}
{{- end -}}

{{/* The PriorityClass of apps' pods; empty if there is none. */}}
{{- define "berth.tenantPriority" -}}
{{- if .Values.priorityClasses.create -}}
{{- printf "%s-tenants" (include "berth.clusterId" .) -}}
{{- else -}}
{{- index .Values.config "tenant-priority-class" | default "" -}}
{{- end -}}
{{- end -}}

{{- define "berth.image" -}}
{{- $repository := required "image.repository: where berth's image is (`make image` builds it)" .Values.image.repository -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" $repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{- define "berth.secretName" -}}
{{- .Values.internalSecret.existingSecret | default (include "berth.fullname" .) -}}
{{- end -}}

{{- define "berth.claim" -}}
{{- .Values.persistence.existingClaim | default (printf "data-%s-0" (include "berth.fullname" .)) -}}
{{- end -}}

{{- define "berth.host" -}}
{{- regexReplaceAll ":[0-9]+$" (urlParse .Values.baseUrl).host "" -}}
{{- end -}}

{{/* What berthd reads; the chart's own keys can't be set twice. */}}
{{- define "berth.config" -}}
{{- $own := dict
  "listen" "0.0.0.0:8080"
  "metrics-listen" (printf "0.0.0.0:%d" (int .Values.metrics.port))
  "data-dir" "/var/lib/berth/data"
  "environment" "production"
  "kubernetes" "in-cluster"
  "internal-secret-file" (printf "/etc/berth/secrets/%s" .Values.internalSecret.key)
  "base-url" (required "baseUrl: the API's URL, such as https://berth.example.org" .Values.baseUrl)
  "apps-domain" (required "appsDomain: deployments are served below it" .Values.appsDomain) -}}
{{- if .Values.internalApi.enabled -}}
{{- $_ := set $own "internal-listen" (printf "0.0.0.0:%d" (int .Values.internalApi.port)) -}}
{{- end -}}
{{- if .Values.rbac.create -}}
{{- $_ := set $own "tenant-role" (include "berth.tenantRole" .) -}}
{{- $_ := set $own "service-account" (printf "%s/%s" .Release.Namespace (include "berth.serviceAccount" .)) -}}
{{- end -}}
{{- if .Values.priorityClasses.create -}}
{{- $_ := set $own "tenant-priority-class" (include "berth.tenantPriority" .) -}}
{{- end -}}
{{- if not (hasKey .Values.config "isolation-image") -}}
{{- $_ := set $own "isolation-image" (include "berth.image" .) -}}
{{- end -}}
{{- range $key, $value := .Values.config -}}
{{- if or (hasKey $own $key) (eq $key "internal-secret") -}}
{{- fail (printf "config.%s is set by the chart" $key) -}}
{{- end -}}
{{- end -}}
{{- merge $own .Values.config | toYaml -}}
{{- end -}}
