// The screens that are loaded together, when the first of them is opened: components/lazy.tsx.
export { AccountScreen } from './account';
export { AdminScreen } from './admin';
export { AlertsScreen } from './alerts';
export { AppPoints } from './app_points';
export { AppSettings } from './app_settings';
export { AppVariables } from './app_variables';
export { AppWebhooks } from './app_webhooks';
export { ComponentsScreen } from './components';
export { BuildsTab } from './deployment_builds';
export { TerminalTab } from './deployment_terminal';
export { RunsTab } from './deployment_runs';
export { UsageTab } from './deployment_usage';
export { DomainsScreen } from './domains';
export { ExtrasScreen } from './extras';
export { MarketScreen } from './market';
export { AskForCharge, OwnRefunds } from './refund_requests';
export { StatementScreen } from './statement';
