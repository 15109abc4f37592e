// Screens that few people need, or not at once, are loaded when the first of them is opened.
import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ApiError } from '../api';
import type { App, Deployment } from '../data';
import { t } from '../messages';
import type { Instance } from '../screens/deployment_failure';
import type { Spend } from '../screens/refund_requests';
import { Bones, Card, Failed } from './ui';

// All of them are one file: a file for each would cut what they share into a dozen pieces, and a browser loads six at a
// time.
type Screens = typeof import('../screens/later');

// A component with these properties, which is one of these screens. A failure is shown: an update may have replaced the
// console's files.
function lazily<P extends object>(one_of: (screens: Screens) => ComponentType<P>) {
  return function Lazy(props: P) {
    const [Screen, set] = useState<{ of: ComponentType<P> } | null>(null);
    const [failed, fail] = useState(false);
    useEffect(
      () =>
        void import('../screens/later').then(
          (screens) => set({ of: one_of(screens) }),
          () => fail(true),
        ),
      [],
    );
    if (failed)
      return (
        <div class="page">
          <Failed error={new ApiError(0, 'unloaded', t.errors.unloaded)} again={() => location.reload()} />
        </div>
      );
    return Screen ? (
      <Screen.of {...props} />
    ) : (
      <div class="page">
        <Card>
          <Bones />
        </Card>
      </div>
    );
  };
}

export const LazyAdmin = lazily<{ part: string; id?: string | undefined }>((screens) => screens.AdminScreen);
export const LazyMarket = lazily<{ part: string; id?: string | undefined }>((screens) => screens.MarketScreen);
export const LazyAccount = lazily<object>((screens) => screens.AccountScreen);
export const LazyAlerts = lazily<object>((screens) => screens.AlertsScreen);
export const LazyAppAudit = lazily<{ app: App }>((screens) => screens.AppAudit);
export const LazyAppCi = lazily<{ app: App }>((screens) => screens.AppCi);
export const LazyAppMembers = lazily<{ app: App }>((screens) => screens.AppMembers);
export const LazyInvitations = lazily<object>((screens) => screens.Invitations);
export const LazyAppPoints = lazily<{ app: App }>((screens) => screens.AppPoints);
export const LazyAskForCharge = lazily<{ deployment: Deployment; onClose: () => void }>(
  (screens) => screens.AskForCharge,
);
export const LazyOwnRefunds = lazily<{ asking: Spend | null; onClose: () => void; round: number }>(
  (screens) => screens.OwnRefunds,
);
export const LazyWebhooks = lazily<{ app: App }>((screens) => screens.AppWebhooks);
export const LazyAppVariables = lazily<{ app: App }>((screens) => screens.AppVariables);
export const LazyAppSettings = lazily<{ app: App; onDelete: () => void }>((screens) => screens.AppSettings);
export const LazyBuilds = lazily<{ deployment: Deployment }>((screens) => screens.BuildsTab);
export const LazyTerminal = lazily<{ deployment: Deployment; instances: Instance[] }>((screens) => screens.TerminalTab);
export const LazyRuns = lazily<{ deployment: Deployment }>((screens) => screens.RunsTab);
export const LazyUsage = lazily<{ deployment: Deployment }>((screens) => screens.UsageTab);
export const LazyDomains = lazily<object>((screens) => screens.DomainsScreen);
export const LazyExtras = lazily<{ part: string }>((screens) => screens.ExtrasScreen);
export const LazyStatement = lazily<{ app?: string | undefined }>((screens) => screens.StatementScreen);
export const LazyComponents = lazily<object>((screens) => screens.ComponentsScreen);
