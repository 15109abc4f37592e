"""When the alerts of the chart fire, and when they don't.

Each case is (alert, series that make it fire, series that don't, minutes). The series are written as `promtool test
rules` takes them, with a value for each minute: "0x5" is six times 0, "0+2x5" counts up from 0 by 2. `minutes` is the
time at which the alert is looked for.
"""
UP = {'up{job="berth"}': "1x3000"}
BYTES_FREE, BYTES_OF_DISK, BYTES_OF_DATABASE = (f'{name}{{job="berth"}}' for name in (
    "berth_disk_free_bytes", "berth_disk_bytes", "berth_database_bytes"))
QUEUE = 'workqueue_queue_duration_seconds_bucket{job="berth",name="deployment",le="%s"}'
TREASURY = 'berth_treasury_points{job="berth"}'
PAID = 'berth_treasury_points_today{job="berth",kind="%s",direction="%s"}'
FAILED_LOGINS = 'security_events_total{job="berth",kind="login_failed",reason="wrong_password"}'
OK, FAILED = ('http_requests_total{job="berth",method="GET",route="health",code="%d"}' % code for code in (200, 503))
LOOKS = 'berth_autoscaler_looks_total{job="berth",result="%s"}'
DAY = 24 * 60


def one(name, fires, rests, labels=""):
    """A case with one series."""
    series = f'{name}{{job="berth"{labels}}}'
    return {series: fires}, {series: rests}


CASES = [
    ("BerthDown", {'up{job="berth"}': "0x10"}, {'up{job="berth"}': "0 0 1x10"}, 5),
    ("BerthDown", {'up{job="another"}': "1x10"}, UP, 5),
    ("BerthNotReady", *one("berth_ready", "1 0x10", "1 0 1x10"), 5),
    ("BerthCommitsFail", *one("berth_database_failed_commits_total", "0x3 1x10", "7x10"), 5),
    ("BerthDiskNearlyFull",
     {BYTES_FREE: "9x20", BYTES_OF_DISK: "100x20", BYTES_OF_DATABASE: "1x20"},
     {BYTES_FREE: "11x20", BYTES_OF_DISK: "100x20", BYTES_OF_DATABASE: "1x20"}, 10),
    ("BerthDiskNearlyFull",
     {BYTES_FREE: "59x20", BYTES_OF_DISK: "100x20", BYTES_OF_DATABASE: "30x20"},
     {BYTES_FREE: "61x20", BYTES_OF_DISK: "100x20", BYTES_OF_DATABASE: "30x20"}, 10),
    ("BerthWalGrows", *one("berth_database_wal_bytes", "268435457x20", "268435457x5 268435456x20"), 15),
    ("BerthBackupTooOld", *one("berth_backup_age_seconds", "180001x20", "179999x20"), 15),
    ("BerthReconcilesFail", *one("controller_runtime_reconcile_errors_total", "0+1x30", "5x30",
                                 ',controller="deployment"'), 25),
    ("BerthReconcilesLate",
     {QUEUE % "10": "0+1x40", QUEUE % "100": "0+10x40", QUEUE % "+Inf": "0+10x40"},
     {QUEUE % "10": "0+10x40", QUEUE % "100": "0+10x40", QUEUE % "+Inf": "0+10x40"}, 30),
    ("BerthReconcilesLate", *one("workqueue_longest_running_processor_seconds", "121x30", "121x5 0x30",
                                 ',name="deployment"'), 20),
    ("BerthLeaderMissing", *one("leader_election_master_status", "0x10", "0 1x10", ',name="berth-1"'), 5),
    ("BerthLeaderMissing",
     {'leader_election_master_status{job="berth",name="b",pod="b-0"}': "1x10",
      'leader_election_master_status{job="berth",name="b",pod="b-1"}': "1x10"},
     {'leader_election_master_status{job="berth",name="b",pod="b-0"}': "1x10",
      'leader_election_master_status{job="berth",name="b",pod="b-1"}': "0x10"}, 5),
    ("BerthWebhooksLate", *one("berth_webhook_overdue_seconds", "61x20", "60x20"), 15),
    ("BerthMailStuck",
     {'berth_mail_waiting{job="berth"}': "3x60", 'berth_mail_sent_total{job="berth"}': "9x60"},
     {'berth_mail_waiting{job="berth"}': "3x60", 'berth_mail_sent_total{job="berth"}': "9+1x60"}, 50),
    ("BerthMailStuck",
     {'berth_mail_waiting{job="berth"}': "3x60", 'berth_mail_sent_total{job="berth"}': "9x60"},
     {'berth_mail_waiting{job="berth"}': "3x20 0 3x40", 'berth_mail_sent_total{job="berth"}': "9x60"}, 50),
    ("BerthCertificatesRefused", *one("berth_certificates_refused", "2x30", "1x30"), 20),
    ("BerthBillingFails", *one("berth_billing_outcomes_total", "0+1x30", "4x30", ',outcome="failed"'), 20),
    ("BerthBillingFails", *one("berth_billing_outcomes_total", "0+1x30", "0 0 0 0 1x30", ',outcome="failed"'), 25),
    ("BerthMeterFails", *one("berth_meter_outcomes_total", "0+1x30", "4x30", ',outcome="failed"'), 20),
    ("BerthMeterLate", *one("berth_meter_overdue_seconds", "61x20", "60x20"), 10),
    ("BerthMeterBlind", *one("berth_meter_watch_age_seconds", "181x20", "180x20"), 10),
    ("BerthMeterClockSkew", *one("berth_meter_runs_total", "0x3 1x10", "1x10", ',outcome="clock_skew"'), 5),
    ("BerthAutoscalerBlind",
     {LOOKS % "missing": "0+150x30", LOOKS % "complete": "900x30"},
     {LOOKS % "missing": "0+75x30", LOOKS % "complete": "0+75x30"}, 20),
    ("BerthIsolationOpen", *one("berth_isolation_open_paths", "2x5", "0x5"), 2),
    ("BerthLedgerViolated", *one("berth_ledger_violations", "1x5", "0x5"), 2),
    ("BerthTreasuryLow",
     {TREASURY: "99x30", PAID % ("reward", "out"): "60x5 0x30", PAID % ("stipend", "out"): "40x30"},
     {TREASURY: "101x30", PAID % ("reward", "out"): "60x30", PAID % ("stipend", "out"): "40x30",
      PAID % ("mint", "in"): "500x30"}, 20),
    ("BerthAnswersErrors", {OK: "0+98x20", FAILED: "0+2x20"}, {OK: "0+199x20", FAILED: "0+1x20"}, 15),
    ("BerthRequestsStopped", *one("berth_database_stopped_statements_total", "0+1x30", "2x30"), 20),
    ("BerthConnectionsRefused", *one("http_refused_connections_total", "0+1x30", "2x30"), 20),
    ("BerthOpenFilesNearLimit",
     {'process_open_fds{job="berth"}': "81x20", 'process_max_fds{job="berth"}': "100x20"},
     {'process_open_fds{job="berth"}': "80x20", 'process_max_fds{job="berth"}': "100x20"}, 10),
    ("BerthOpenFilesNearLimit",
     {'process_open_fds{job="berth"}': "81x20", 'process_max_fds{job="berth"}': "100x20"},
     {'process_open_fds{job="berth"}': "81x20", 'process_max_fds{job="berth"}': "-1x20"}, 10),
    # Two logins fail each second for the first time, or as on all days.
    ("BerthLoginFlood", {FAILED_LOGINS: f"0x{DAY} 0+120x60"}, {FAILED_LOGINS: f"0+120x{DAY + 61}"}, DAY + 30),
    ("BerthLoginFlood", {FAILED_LOGINS: "0+120x60"}, {FAILED_LOGINS: "0+50x60"}, 30),
    ("BerthStolenCredentials",
     *one("security_events_total", "0x3 1x10", "1x10", ',kind="refresh_token_reused",reason="reused"'), 5),
    ("BerthStolenCredentials",
     *one("security_events_total", "0x3 1x10", "1x10", ',kind="internal_secret_rejected",reason="wrong"'), 5),
]
