"""What every event is: a value that survives JSON."""

from pydantic import BaseModel, ConfigDict


class EventBase(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True, protected_namespaces=())
