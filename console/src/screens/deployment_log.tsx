// The output of a deployment's containers: of the newest, or of the one that is chosen.
import { useState } from 'preact/hooks';
import { useSearch } from 'wouter-preact';
import { Select } from '../components/fields';
import { Log } from '../components/log';
import type { Deployment } from '../data';
import { t } from '../messages';
import type { Instance } from './deployment_failure';
import { short_image } from './rollouts';

export function LogTab({ deployment, instances }: { deployment: Deployment; instances: Instance[] }) {
  const asked = new URLSearchParams(useSearch()).get('instance') ?? '';
  const [instance, choose] = useState(asked);
  const gone = instance !== '' && !instances.some((one) => one.name === instance);
  const choices = [
    ['', t.instances.follow] as const,
    ...instances
      .filter((one) => one.has_log)
      .map(
        (one) =>
          [
            one.name,
            t.instances.one(
              short_image(one.image),
              one.ready ? t.instances.serves : t.instances.states[one.state],
              [one.process === 'web' ? '' : one.process, one.name.split('-').at(-1)].filter(Boolean).join(' '),
            ),
          ] as const,
      ),
    ...(gone ? [[instance, t.instances.gone] as const] : []),
  ];
  return (
    <Log
      id={deployment.id}
      app={deployment.app_id}
      name={deployment.name ?? deployment.subdomain}
      instance={instance}
      beside={
        (choices.length > 2 || instance !== '') && (
          <Select class="input" aria-label={t.instances.choose} value={instance} onChoose={choose} choices={choices} />
        )
      }
    />
  );
}
