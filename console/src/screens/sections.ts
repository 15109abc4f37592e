// The parts of the administration, for the menu and for ⌘K.
import type { IconName } from '../components/icons';
import { t } from '../messages';

const icons = {
  requests: 'shield',
  apps: 'apps',
  deployments: 'deployments',
  users: 'account',
  economy: 'points',
  tiers: 'layers',
  market: 'send',
  shop: 'tag',
  learning: 'book',
  words: 'edit',
  audit: 'info',
  access: 'key',
  fleet: 'layers',
} as const satisfies Record<string, IconName>;

export type AdminPart = keyof typeof icons;
export const admin_sections = (Object.keys(icons) as AdminPart[]).map((key) => ({
  key,
  name: t.admin.tabs[key],
  icon: icons[key] as IconName,
  href: key === 'requests' ? '/admin' : `/admin/${key}`,
}));
