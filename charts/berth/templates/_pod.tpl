{{/* The pod of both kinds of workload. */}}
{{- define "berth.pod" -}}
metadata:
  labels:
    {{- include "berth.selector" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    # A changed configuration replaces the pod. A changed secret doesn't, because its value must not be put into an
    # annotation.
    checksum/config: {{ include "berth.config" . | sha256sum }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "berth.serviceAccount" . }}
  automountServiceAccountToken: true
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.priorityClassName | default (ternary (include "berth.clusterId" .) "" .Values.priorityClasses.create) }}
  priorityClassName: {{ . }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: {type: RuntimeDefault}
  {{- if include "berth.onPostgres" . }}
  topologySpreadConstraints:
    {{- range $key, $unmet := dict "kubernetes.io/hostname" "ScheduleAnyway" "topology.kubernetes.io/zone" "ScheduleAnyway" }}
    - topologyKey: {{ $key }}
      maxSkew: 1
      whenUnsatisfiable: {{ $unmet }}
      labelSelector:
        matchLabels: {{- include "berth.selector" $ | nindent 10 }}
    {{- end }}
  {{- end }}
  containers:
    - name: berthd
      image: {{ include "berth.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: [--config, /etc/berth/config/berthd.yaml]
      {{- with .Values.extraEnv }}
      env: {{- toYaml . | nindent 8 }}
      {{- end }}
      ports:
        - {name: api, containerPort: 8080}
        - {name: metrics, containerPort: {{ .Values.metrics.port }}}
        {{- if .Values.internalApi.enabled }}
        - {name: internal, containerPort: {{ .Values.internalApi.port }}}
        {{- end }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: {drop: [ALL]}
      # Recovering the database after a kill, or migrating it, may take some time.
      startupProbe:
        httpGet: {path: /livez, port: metrics}
        periodSeconds: 1
        failureThreshold: 900
      livenessProbe:
        httpGet: {path: /livez, port: metrics}
        periodSeconds: 10
        timeoutSeconds: 5
      {{- if include "berth.onPostgres" . }}
      # Callers keep coming until every node has heard that the pod is leaving.
      lifecycle:
        preStop:
          sleep: {seconds: {{ .Values.database.drainSeconds }}}
      {{- end }}
      readinessProbe:
        httpGet: {path: /readyz, port: metrics}
        periodSeconds: 2
        timeoutSeconds: 2
      resources: {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        - {name: data, mountPath: /var/lib/berth}
        - {name: config, mountPath: /etc/berth/config, readOnly: true}
        - {name: secrets, mountPath: /etc/berth/secrets, readOnly: true}
        - {name: tmp, mountPath: /tmp}
        {{- if include "berth.onPostgres" . }}
        - {name: keys, mountPath: /etc/berth/keys, readOnly: true}
        - {name: database, mountPath: /etc/berth/database, readOnly: true}
        {{- end }}
  volumes:
    - name: config
      configMap: {name: {{ include "berth.fullname" . }}}
    - name: secrets
      secret: {secretName: {{ include "berth.secretName" . }}, defaultMode: 0440}
    - name: tmp
      emptyDir: {sizeLimit: 256Mi}
    {{- if include "berth.onPostgres" . }}
    # A copy of the keys and the history of usage, which resources.limits.ephemeral-storage bounds.
    - name: data
      emptyDir: {}
    - name: keys
      secret: {secretName: {{ .Values.database.keysSecret }}, defaultMode: 0440, items: [{key: keys.json, path: keys.json}]}
    - name: database
      projected:
        defaultMode: 0440
        sources: {{- include "berth.databaseFiles" . | nindent 10 }}
    {{- else if .Values.persistence.existingClaim }}
    - name: data
      persistentVolumeClaim: {claimName: {{ include "berth.claim" . }}}
    {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}
