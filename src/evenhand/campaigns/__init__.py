"""Campaigns: evaluations by many, over days, kept in a store and provable afterwards."""

from evenhand.campaigns.campaign import Campaign
from evenhand.campaigns.imports import Imported
from evenhand.campaigns.status import Status
from evenhand.campaigns.tickets import Notice, NoTicket, Receipt, Ticket
from evenhand.campaigns.verification import RecordVerification

__all__ = [
    "Campaign",
    "Imported",
    "NoTicket",
    "Notice",
    "Receipt",
    "RecordVerification",
    "Status",
    "Ticket",
]
