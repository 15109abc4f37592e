// The variables of an app, which all its deployments inherit.
import { call } from '../api';
import { note } from '../components/notes';
import { Read } from '../components/table';
import { useReading } from '../components/use';
import type { App } from '../data';
import { t } from '../messages';
import { by_name, VariableEditor } from './deployment_variables';

export function AppVariables({ app }: { app: App }) {
  const list = useReading(() => call('get', '/api/deploy/variables', { app: app.id }), [app.id]);
  return (
    <Read of={list}>
      {({ variables }) => (
        <VariableEditor
          key={variables.map((one) => one.name + one.digest).join()}
          intro={t.variables.app_intro}
          field="app_variables"
          stored={variables.map(({ name, set_at }) => ({ name, stored: true, set_at })).sort(by_name)}
          save={async (changes) => {
            const { deployments } = await call('patch', '/api/deploy/variables', {
              app: app.id,
              body: { variables: changes },
            });
            note(t.variables.app_saved(deployments.map((one) => one.name)));
            list.again();
          }}
        />
      )}
    </Read>
  );
}
