{{- define "berth.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* 40 characters, so that "-metrics" and a StatefulSet's hashes fit after it. */}}
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

{{/* The account that opens sessions in apps' containers. */}}
{{- define "berth.execAccount" -}}
{{- printf "%s-exec" (include "berth.fullname" .) -}}
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

{{/* The label berth/account of apps' namespaces, as manifests::owner_of has it: whose they are, of several installations. */}}
{{- define "berth.owner" -}}
{{- printf "%s.%s" .Release.Namespace (include "berth.serviceAccount" .) | trunc 63 | trimAll "-." -}}
{{- end -}}

{{/* config.tenant-node-selector as JSON, written as a map or as LABEL=VALUE,… */}}
{{- define "berth.tenantNodeSelector" -}}
{{- $value := index .Values.config "tenant-node-selector" | default dict -}}
{{- $labels := dict -}}
{{- if kindIs "string" $value -}}
{{- range splitList "," $value -}}
{{- $parts := splitn "=" 2 (trim .) -}}
{{- $_ := set $labels $parts._0 ($parts._1 | default "") -}}
{{- end -}}
{{- else -}}
{{- $labels = $value -}}
{{- end -}}
{{- toJson $labels -}}
{{- end -}}

{{/* config.tenant-tolerations as a JSON list of [key, operator, value, effect], written as a list of tolerations or as
     KEY[=VALUE][:EFFECT],… */}}
{{- define "berth.tenantTolerations" -}}
{{- $value := index .Values.config "tenant-tolerations" | default list -}}
{{- $all := list -}}
{{- if kindIs "string" $value -}}
{{- range splitList "," $value -}}
{{- $parts := splitn ":" 2 (trim .) -}}
{{- $label := splitn "=" 2 $parts._0 -}}
{{- $operator := ternary "Equal" "Exists" (contains "=" $parts._0) -}}
{{- $all = append $all (list $label._0 $operator ($label._1 | default "") ($parts._1 | default "")) -}}
{{- end -}}
{{- else -}}
{{- range $value -}}
{{- if kindIs "string" . -}}
{{- fail "config.tenant-tolerations: a text such as KEY=VALUE:EFFECT,…, or a list of tolerations" -}}
{{- end -}}
{{- $all = append $all (list (.key | default "") (.operator | default "Equal") (.value | default "") (.effect | default "")) -}}
{{- end -}}
{{- end -}}
{{- toJson $all -}}
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

{{/* Not empty if the database is on PostgreSQL. */}}
{{- define "berth.onPostgres" -}}
{{- with .Values.database -}}
{{- if gt (add (len .address | min 1) (len .addressSecret | min 1) (ternary 1 0 .cloudNativePG.create)) 1 -}}
{{- fail "database: set one of address, addressSecret and cloudNativePG.create" -}}
{{- end -}}
{{- if or .address .addressSecret .cloudNativePG.create -}}
{{- if not .keysSecret -}}
{{- fail "database.keysSecret: a Secret with the file keys.json, which all pods share; the chart's README says how to make it" -}}
{{- end -}}
yes
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "berth.workload" -}}
{{ ternary "deployment" "statefulset" (ne (include "berth.onPostgres" .) "") }}/{{ include "berth.fullname" . }}
{{- end -}}

{{/* The Cluster of CloudNativePG. */}}
{{- define "berth.databaseName" -}}
{{ include "berth.fullname" . }}-db
{{- end -}}

{{- define "berth.databaseAddress" -}}
{{- if .Values.database.cloudNativePG.create -}}
postgresql://berth@{{ include "berth.databaseName" . }}-rw/berth?sslmode=verify-full&sslrootcert=/etc/berth/database/ca.crt
{{- else -}}
{{- .Values.database.address -}}
{{- end -}}
{{- end -}}

{{/* The files in /etc/berth/database: the address or the password, and the authority of the server's certificate. */}}
{{- define "berth.databaseFiles" -}}
{{- $own := .Values.database.cloudNativePG.create -}}
{{- $name := include "berth.databaseName" . -}}
{{- $files := list -}}
{{- with .Values.database -}}
{{- $wanted := list
  (list "address" .addressSecret .addressKey)
  (list "password" (ternary (printf "%s-app" $name) .passwordSecret $own) (ternary "password" .passwordKey $own))
  (list "ca.crt" (ternary (printf "%s-ca" $name) .caSecret $own) (ternary "ca.crt" .caKey $own)) -}}
{{- range $wanted -}}
{{- if index . 1 -}}
{{- $files = append $files (dict "secret" (dict "name" (index . 1) "items" (list (dict "key" (index . 2) "path" (index . 0))))) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toYaml $files -}}
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
{{- if .Values.exec.enabled -}}
{{- if not (and .Values.rbac.create .Values.admissionPolicy.enabled) -}}
{{- fail "exec.enabled: needs rbac.create and admissionPolicy.enabled, which keep the account for sessions in apps' containers" -}}
{{- end -}}
{{- $_ := set $own "exec-service-account" (printf "%s/%s" .Release.Namespace (include "berth.execAccount" .)) -}}
{{- end -}}
{{- if .Values.priorityClasses.create -}}
{{- $_ := set $own "tenant-priority-class" (include "berth.tenantPriority" .) -}}
{{- end -}}
{{- if not (hasKey .Values.config "isolation-image") -}}
{{- $_ := set $own "isolation-image" (include "berth.image" .) -}}
{{- end -}}
{{- if include "berth.onPostgres" . -}}
{{- $_ := set $own "keys-file" "/etc/berth/keys/keys.json" -}}
{{- if .Values.database.addressSecret -}}
{{- $_ := set $own "database-file" "/etc/berth/database/address" -}}
{{- else -}}
{{- $_ := set $own "database" (include "berth.databaseAddress" .) -}}
{{- end -}}
{{- if or .Values.database.passwordSecret .Values.database.cloudNativePG.create -}}
{{- $_ := set $own "database-password-file" "/etc/berth/database/password" -}}
{{- end -}}
{{- end -}}
{{- range $key, $value := .Values.config -}}
{{- if hasPrefix "database" $key -}}
{{- fail (printf "config.%s: set the value database instead, which makes a Deployment" $key) -}}
{{- end -}}
{{- if eq $key "internal-secrets" -}}
{{- fail "config.internal-secrets: a ConfigMap is no place for secrets; set internal-secrets-file to a file of internalSecret.existingSecret" -}}
{{- end -}}
{{- if or (hasKey $own $key) (eq $key "internal-secret") -}}
{{- fail (printf "config.%s is set by the chart" $key) -}}
{{- end -}}
{{- end -}}
{{- merge $own .Values.config | toYaml -}}
{{- end -}}
