// Choosing a tier: its size and its price.
import { type Answer } from '../api';
import { tiers } from '../data';
import { cpu, memory } from '../format';
import { t } from '../messages';
import { Bones } from './ui';

export function TierChoice({
  value,
  onChange,
  free,
}: {
  value: string;
  onChange: (slug: string) => void;
  free?: Answer<'get', '/api/deploy/sandbox-status'> | null;
}) {
  if (!tiers.value) return <Bones />;
  const usable = tiers.value.filter((tier) => tier.payment_method === 'service_points');
  return (
    <fieldset class="choices">
      <legend class="unseen">{t.tiers.choose}</legend>
      {usable.map((tier) => {
        const used_up = free && tier.slug === free.tier && !free.eligible && tier.slug !== value;
        return (
          <label class="choice" key={tier.slug}>
            <input
              type="radio"
              name="tier"
              value={tier.slug}
              checked={tier.slug === value}
              disabled={!!used_up}
              onChange={() => onChange(tier.slug)}
            />
            <span class="row apart tight">
              <strong>{tier.name}</strong>
              <span class="price number">
                {tier.monthly_cost_points ? t.tiers.price(tier.monthly_cost_points) : t.create.free}
              </span>
            </span>
            <span class="small soft">{t.tiers.size(memory(tier.memory_limit_mb), cpu(tier.cpu_limit_millicores))}</span>
            <span class="small faint">
              {used_up
                ? t.tiers.used_up
                : tier.auto_approve
                  ? tier.custom_domain_allowed
                    ? t.tiers.domain
                    : t.tiers.no_domain
                  : t.tiers.by_admin}
            </span>
          </label>
        );
      })}
    </fieldset>
  );
}
