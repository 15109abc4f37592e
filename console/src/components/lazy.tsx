// Screens that few people need, or not at once, are loaded when they are opened.
import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ApiError } from '../api';
import type { App } from '../data';
import { t } from '../messages';
import { Bones, Card, Failed } from './ui';

// A component with these properties that `load` loads. A failure is shown: an update may have replaced the console's files.
function lazily<P extends object>(load: () => Promise<ComponentType<P>>) {
  return function Lazy(props: P) {
    const [Screen, set] = useState<{ of: ComponentType<P> } | null>(null);
    const [failed, fail] = useState(false);
    useEffect(() => void load().then((of) => set({ of }), () => fail(true)), []);
    if (failed) return <div class="page"><Failed error={new ApiError(0, 'unloaded', t.errors.unloaded)} again={() => location.reload()} /></div>;
    return Screen ? <Screen.of {...props} /> : <div class="page"><Card><Bones /></Card></div>;
  };
}

export const LazyAdmin = lazily<{ part: string }>(() => import('../screens/admin').then((screens) => screens.AdminScreen));
export const LazyMarket = lazily<{ part: string; id?: string | undefined }>(() => import('../screens/market').then((screens) => screens.MarketScreen));
export const LazyAccount = lazily<object>(() => import('../screens/account').then((screens) => screens.AccountScreen));
export const LazyAppPoints = lazily<{ app: App }>(() => import('../screens/app_points').then((screens) => screens.AppPoints));
export const LazyWebhooks = lazily<{ app: App }>(() => import('../screens/app_webhooks').then((screens) => screens.AppWebhooks));
export const LazyAppSettings = lazily<{ app: App; onDelete: () => void }>(() => import('../screens/app_settings').then((screens) => screens.AppSettings));
export const LazyDomains = lazily<object>(() => import('../screens/domains').then((screens) => screens.DomainsScreen));
export const LazyExtras = lazily<{ part: string }>(() => import('../screens/extras').then((screens) => screens.ExtrasScreen));
export const LazyComponents = lazily<object>(() => import('../screens/components').then((screens) => screens.ComponentsScreen));
